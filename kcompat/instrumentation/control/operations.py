"""The table of all operations of the control port, apart from the description of itself."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from kcompat.instrumentation.control import (
    clock,
    cluster,
    compaction,
    disks,
    expected,
    faults,
    groups,
    records,
    requests,
    snapshots,
    topics,
)
from kcompat.instrumentation.control.operation import Nothing, Operation
from kcompat.instrumentation.topics import Topic

_CREATED: Final = HTTPStatus.CREATED
_NO_CONTENT: Final = HTTPStatus.NO_CONTENT

OPERATIONS: Final = (
    Operation("GET", "/topics", topics.list_topics, topics.WhichTopics, topics.Topics),
    Operation("POST", "/topics", topics.create_topic, topics.NewTopic, Topic, _CREATED),
    Operation("GET", "/topics/{topic}", topics.get_topic, topics.WhichTopic, Topic),
    Operation("DELETE", "/topics/{topic}", topics.delete_topic, topics.WhichTopic, None, _NO_CONTENT),
    Operation(
        "GET", "/topics/{topic}/records", records.list_records, records.WhichRecords, records.TopicRecords
    ),
    Operation(
        "POST", "/topics/{topic}/records", records.add_to_topic, records.RecordsToAdd, records.AddedRecords
    ),
    Operation(
        "POST",
        "/topics/{topic}/compact",
        compaction.compact_topic,
        topics.WhichTopic,
        compaction.CompactedLogs,
    ),
    Operation(
        "POST",
        "/expectations",
        expected.expect_records,
        expected.ExpectedRecords,
        expected.KeptExpectation,
        _CREATED,
    ),
    Operation(
        "POST",
        "/expectations/{expectation}/await",
        expected.await_records,
        expected.WhichExpectation,
        records.TopicRecords,
    ),
    Operation("POST", "/reset", snapshots.reset, Nothing, None, _NO_CONTENT),
    Operation("POST", "/snapshots", snapshots.take_snapshot, Nothing, snapshots.KeptSnapshot, _CREATED),
    Operation(
        "POST",
        "/snapshots/{snapshot}/restore",
        snapshots.restore_snapshot,
        snapshots.WhichSnapshot,
        None,
        _NO_CONTENT,
    ),
    Operation(
        "DELETE",
        "/snapshots/{snapshot}",
        snapshots.delete_snapshot,
        snapshots.WhichSnapshot,
        None,
        _NO_CONTENT,
    ),
    Operation("GET", "/groups", groups.list_groups, Nothing, groups.Groups),
    Operation(
        "POST", "/groups/expire-member", groups.expire_member, groups.WhichMember, groups.ExpiredMember
    ),
    Operation(
        "POST",
        "/transactions/fence-producer",
        faults.fence_producer,
        faults.WhichProducer,
        None,
        _NO_CONTENT,
    ),
    Operation("GET", "/brokers", cluster.list_brokers, Nothing, cluster.RunningBrokers),
    Operation("POST", "/brokers/stop", cluster.stop_broker, cluster.WhichBroker, None, _NO_CONTENT),
    Operation("POST", "/brokers/kill", cluster.kill_broker, cluster.WhichBroker, None, _NO_CONTENT),
    Operation("POST", "/brokers/start", cluster.start_broker, cluster.WhichBroker, None, _NO_CONTENT),
    Operation("POST", "/brokers/isolate", cluster.isolate_broker, cluster.WhichBroker, None, _NO_CONTENT),
    Operation("POST", "/brokers/heal", cluster.heal_brokers, Nothing, None, _NO_CONTENT),
    Operation(
        "POST", "/brokers/lose-leader", cluster.lose_leader, cluster.WhichLeader, faults.Fault, _CREATED
    ),
    Operation("POST", "/brokers/shrink-isr", cluster.shrink_isr, cluster.WhichIsr, faults.Fault, _CREATED),
    Operation("GET", "/clock", clock.get_clock, Nothing, clock.Clock),
    Operation("POST", "/clock/advance", clock.advance_clock, clock.Duration, clock.Clock),
    Operation("POST", "/expire", clock.expire_now, clock.WhatExpires, None, _NO_CONTENT),
    Operation("POST", "/faults/fail", faults.fail_requests, faults.FailRequests, faults.Fault, _CREATED),
    Operation("POST", "/faults/delay", faults.delay_requests, faults.DelayRequests, faults.Fault, _CREATED),
    Operation("POST", "/faults/drop", faults.drop_answers, faults.DropAnswers, faults.Fault, _CREATED),
    Operation("POST", "/faults/disconnect", faults.disconnect, faults.Disconnect, faults.Fault, _CREATED),
    Operation(
        "POST", "/faults/throttle", faults.throttle_clients, faults.ThrottleClients, faults.Fault, _CREATED
    ),
    Operation("POST", "/disk/fill", disks.fill_disk, disks.WhichDisk, faults.Fault, _CREATED),
    Operation("POST", "/disk/fail", disks.fail_disk, disks.WhichDisk, faults.Fault, _CREATED),
    Operation("POST", "/disk/slow", disks.slow_disk, disks.SlowDisk, faults.Fault, _CREATED),
    Operation(
        "POST",
        "/transactions/hang",
        faults.hang_transaction,
        faults.WhichProducer,
        faults.Fault,
        _CREATED,
    ),
    Operation("GET", "/faults", faults.list_faults, Nothing, faults.Faults),
    Operation("GET", "/faults/{fault}", faults.get_fault, faults.WhichFault, faults.Fault),
    Operation("DELETE", "/faults/{fault}", faults.end_fault, faults.WhichFault, None, _NO_CONTENT),
    Operation("DELETE", "/faults", faults.end_faults, Nothing, None, _NO_CONTENT),
    Operation("GET", "/requests", requests.list_requests, requests.WhichRequests, requests.Requests),
)
