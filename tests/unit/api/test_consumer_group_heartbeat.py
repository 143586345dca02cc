"""ConsumerGroupHeartbeat over both versions."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.group.kinds.consumer.heartbeat import LEAST_INTERVAL_MS
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying, Finalized
from support.group_apis import ONE, GroupHandlers

Owned = ConsumerGroupHeartbeatRequest.TopicPartitions


@pytest.fixture
def broker() -> GroupHandlers:
    return GroupHandlers()


def request(**fields: Any) -> ConsumerGroupHeartbeatRequest:
    """A member that joins."""
    return ConsumerGroupHeartbeatRequest(
        **{
            "group_id": "g",
            "member_id": "m",
            "member_epoch": 0,
            "rebalance_timeout_ms": 60_000,
            "subscribed_topic_names": ["t1"],
            "topic_partitions": [],
            **fields,
        }
    )


@pytest.mark.parametrize("version", range(2))
def test_joining_going_on_and_leaving(broker: GroupHandlers, version: int) -> None:
    joined = broker.ask(request(), version)
    assert (joined.error_code, joined.error_message) == (0, None)
    assert (joined.member_id, joined.member_epoch, joined.heartbeat_interval_ms) == (
        "m",
        2,
        LEAST_INTERVAL_MS,
    )
    rows = [(row.topic_id, row.partitions) for row in joined.assignment.topic_partitions]
    assert rows == [(ONE, [0, 1])]
    going_on = ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", member_epoch=2, topic_partitions=[Owned(ONE, [0, 1])]
    )
    answer = broker.ask(going_on, version)
    assert (answer.error_code, answer.member_epoch, answer.assignment) == (0, 2, None)
    left = broker.ask(ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=-1), version)
    assert (left.error_code, left.member_epoch, left.assignment) == (0, -1, None)


def test_a_member_id_of_the_coordinator(broker: GroupHandlers) -> None:
    assert broker.ask(request(member_id=""), 0).member_id
    refused = broker.ask(request(member_id=""), 1)
    assert (refused.error_code, refused.error_message) == (
        ErrorCode.INVALID_REQUEST,
        "MemberId can't be empty.",
    )


def test_a_pattern(broker: GroupHandlers) -> None:
    answer = broker.ask(request(subscribed_topic_names=None, subscribed_topic_regex="t[1-9]"), 1)
    assert (answer.error_code, answer.assignment.topic_partitions) == (0, [])
    broker.fixture.clock.advance(0)
    owned = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=1, topic_partitions=[])
    found = broker.ask(owned, 1).assignment.topic_partitions
    assert sorted((row.topic_id, row.partitions) for row in found) == [(b"1" * 16, [0, 1]), (b"2" * 16, [0])]


def test_a_static_member(broker: GroupHandlers) -> None:
    broker.ask(request(instance_id="i", rack_id="r", server_assignor="range"), 1)
    taken = broker.ask(request(member_id="n", instance_id="i"), 1)
    assert taken.error_code == ErrorCode.UNRELEASED_INSTANCE_ID


def test_what_the_client_may_not(broker: GroupHandlers) -> None:
    broker.authorizer = Denying((Operation.READ, Resource.group("g")))
    assert broker.ask(request(), 1).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    broker.authorizer = Denying((Operation.DESCRIBE, Resource.topic("t2")))
    both = request(subscribed_topic_names=["t1", "t2"])
    assert broker.ask(both, 1).error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    broker.ask(request(subscribed_topic_names=None, subscribed_topic_regex=".*"), 1)
    broker.fixture.clock.advance(0)
    owned = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=1, topic_partitions=[])
    found = broker.ask(owned, 1).assignment.topic_partitions
    assert [row.topic_id for row in found] == [ONE], "a pattern finds what the client may describe"


def test_a_broker_that_serves_classic_groups_alone() -> None:
    broker = GroupHandlers(rebalance_protocols=frozenset({"classic"}))
    assert broker.ask(request(), 1).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_a_cluster_of_which_not_all_brokers_know_consumer_groups(broker: GroupHandlers) -> None:
    broker.features = Finalized()
    assert broker.ask(request(), 1).error_code == ErrorCode.UNSUPPORTED_VERSION
