"""The handler of ShareGroupHeartbeat."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying, Finalized
from support.group_apis import ONE, GroupHandlers


@pytest.fixture
def broker() -> GroupHandlers:
    return GroupHandlers()


def beat(broker: GroupHandlers, epoch: int = 0, **fields: Any) -> Any:
    """The answer; what follows from it has happened."""
    wanted = {"group_id": "g", "member_id": "m", "member_epoch": epoch, **fields}
    answer = broker.ask(ShareGroupHeartbeatRequest(**wanted), 1)
    broker.fixture.clock.advance(1_000)
    return answer


def test_a_member_joins_and_is_given_share_partitions(broker: GroupHandlers) -> None:
    joined = beat(broker, subscribed_topic_names=["t1", "absent"], rack_id="r")
    assert (joined.error_code, joined.error_message) == (0, None)
    assert (joined.member_id, joined.member_epoch, joined.heartbeat_interval_ms) == ("m", 2, 5_000)
    assert joined.assignment.topic_partitions == []
    told = beat(broker, 2)
    assert told.member_epoch == 3
    assert [(row.topic_id, row.partitions) for row in told.assignment.topic_partitions] == [(ONE, [0, 1])]
    assert beat(broker, 3).assignment is None
    left = beat(broker, -1)
    assert (left.error_code, left.member_id, left.member_epoch) == (0, "m", -1)


@pytest.mark.parametrize(
    ("fields", "error", "has_message"),
    [
        ({"member_id": ""}, ErrorCode.INVALID_REQUEST, False),
        ({"member_id": "m" * 37}, ErrorCode.INVALID_REQUEST, False),
        ({"group_id": " "}, ErrorCode.INVALID_REQUEST, True),
        ({"subscribed_topic_names": None}, ErrorCode.INVALID_REQUEST, True),
        ({"member_epoch": 1}, ErrorCode.GROUP_ID_NOT_FOUND, True),
    ],
)
def test_what_is_refused(
    broker: GroupHandlers, fields: dict[str, Any], error: ErrorCode, has_message: bool
) -> None:
    wanted = {"group_id": "g", "member_id": "m", "subscribed_topic_names": ["t1"], **fields}
    answer = broker.ask(ShareGroupHeartbeatRequest(**wanted), 1)
    assert (answer.error_code, bool(answer.error_message)) == (error, has_message)


def test_who_may_not(broker: GroupHandlers) -> None:
    for denied, error in (
        ((Operation.READ, Resource.group("g")), ErrorCode.GROUP_AUTHORIZATION_FAILED),
        ((Operation.DESCRIBE, Resource.topic("t2")), ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    ):
        broker.authorizer = Denying(denied)
        assert beat(broker, subscribed_topic_names=["t1", "t2"]).error_code == error
    assert not beat(broker, subscribed_topic_names=["t1"]).error_code


def test_a_cluster_without_share_groups(broker: GroupHandlers) -> None:
    broker.features = Finalized()
    assert beat(broker, subscribed_topic_names=["t1"]).error_code == ErrorCode.UNSUPPORTED_VERSION
