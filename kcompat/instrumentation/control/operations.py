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
from kcompat.instrumentation.control.operation import HttpOperation, Nothing
from kcompat.instrumentation.topics import Topic

_CREATED: Final = HTTPStatus.CREATED
_NO_CONTENT: Final = HTTPStatus.NO_CONTENT

OPERATIONS: Final = (
    HttpOperation("GET", "/topics", topics.list_topics, topics.WhichTopics, topics.Topics),
    HttpOperation("POST", "/topics", topics.create_topic, topics.NewTopic, Topic, _CREATED),
    HttpOperation("GET", "/topics/{topic}", topics.get_topic, topics.WhichTopic, Topic),
    HttpOperation("DELETE", "/topics/{topic}", topics.delete_topic, topics.WhichTopic, None, _NO_CONTENT),
    HttpOperation(
        "GET", "/topics/{topic}/records", records.list_records, records.WhichRecords, records.TopicRecords
    ),
    HttpOperation(
        "POST", "/topics/{topic}/records", records.add_to_topic, records.RecordsToAdd, records.AddedRecords
    ),
    HttpOperation(
        "POST",
        "/topics/{topic}/compact",
        compaction.compact_topic,
        topics.WhichTopic,
        compaction.CompactedLogs,
    ),
    HttpOperation(
        "POST",
        "/expectations",
        expected.expect_records,
        expected.ExpectedRecords,
        expected.KeptExpectation,
        _CREATED,
    ),
    HttpOperation(
        "POST",
        "/expectations/{expectation}/await",
        expected.await_records,
        expected.WhichExpectation,
        records.TopicRecords,
    ),
    HttpOperation("POST", "/reset", snapshots.reset, Nothing, None, _NO_CONTENT),
    HttpOperation("POST", "/snapshots", snapshots.take_snapshot, Nothing, snapshots.KeptSnapshot, _CREATED),
    HttpOperation(
        "POST",
        "/snapshots/{snapshot}/restore",
        snapshots.restore_snapshot,
        snapshots.WhichSnapshot,
        None,
        _NO_CONTENT,
    ),
    HttpOperation(
        "DELETE",
        "/snapshots/{snapshot}",
        snapshots.delete_snapshot,
        snapshots.WhichSnapshot,
        None,
        _NO_CONTENT,
    ),
    HttpOperation("GET", "/groups", groups.list_groups, Nothing, groups.Groups),
    HttpOperation(
        "POST", "/groups/expire-member", groups.expire_member, groups.WhichMember, groups.ExpiredMember
    ),
    HttpOperation(
        "POST",
        "/transactions/fence-producer",
        faults.fence_producer,
        faults.WhichProducer,
        None,
        _NO_CONTENT,
    ),
    HttpOperation("GET", "/brokers", cluster.list_brokers, Nothing, cluster.RunningBrokers),
    HttpOperation("POST", "/brokers/stop", cluster.stop_broker, cluster.WhichBroker, None, _NO_CONTENT),
    HttpOperation("POST", "/brokers/kill", cluster.kill_broker, cluster.WhichBroker, None, _NO_CONTENT),
    HttpOperation("POST", "/brokers/start", cluster.start_broker, cluster.WhichBroker, None, _NO_CONTENT),
    HttpOperation("POST", "/brokers/isolate", cluster.isolate_broker, cluster.WhichBroker, None, _NO_CONTENT),
    HttpOperation("POST", "/brokers/heal", cluster.heal_brokers, Nothing, None, _NO_CONTENT),
    HttpOperation(
        "POST", "/brokers/lose-leader", cluster.lose_leader, cluster.WhichLeader, faults.Fault, _CREATED
    ),
    HttpOperation(
        "POST", "/brokers/shrink-isr", cluster.shrink_isr, cluster.WhichIsr, faults.Fault, _CREATED
    ),
    HttpOperation("GET", "/clock", clock.get_clock, Nothing, clock.Clock),
    HttpOperation("POST", "/clock/advance", clock.advance_clock, clock.Duration, clock.Clock),
    HttpOperation("POST", "/expire", clock.expire_now, clock.WhatExpires, None, _NO_CONTENT),
    HttpOperation("POST", "/faults/fail", faults.fail_requests, faults.FailRequests, faults.Fault, _CREATED),
    HttpOperation(
        "POST", "/faults/delay", faults.delay_requests, faults.DelayRequests, faults.Fault, _CREATED
    ),
    HttpOperation("POST", "/faults/drop", faults.drop_answers, faults.DropAnswers, faults.Fault, _CREATED),
    HttpOperation("POST", "/faults/disconnect", faults.disconnect, faults.Disconnect, faults.Fault, _CREATED),
    HttpOperation(
        "POST", "/faults/throttle", faults.throttle_clients, faults.ThrottleClients, faults.Fault, _CREATED
    ),
    HttpOperation("POST", "/disk/fill", disks.fill_disk, disks.WhichDisk, faults.Fault, _CREATED),
    HttpOperation("POST", "/disk/fail", disks.fail_disk, disks.WhichDisk, faults.Fault, _CREATED),
    HttpOperation("POST", "/disk/slow", disks.slow_disk, disks.SlowDisk, faults.Fault, _CREATED),
    HttpOperation(
        "POST",
        "/transactions/hang",
        faults.hang_transaction,
        faults.WhichProducer,
        faults.Fault,
        _CREATED,
    ),
    HttpOperation("GET", "/faults", faults.list_faults, Nothing, faults.Faults),
    HttpOperation("GET", "/faults/{fault}", faults.get_fault, faults.WhichFault, faults.Fault),
    HttpOperation("DELETE", "/faults/{fault}", faults.end_fault, faults.WhichFault, None, _NO_CONTENT),
    HttpOperation("DELETE", "/faults", faults.end_faults, Nothing, None, _NO_CONTENT),
    HttpOperation("GET", "/requests", requests.list_requests, requests.WhichRequests, requests.Requests),
)
