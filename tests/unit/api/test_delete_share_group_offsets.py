"""The handler of DeleteShareGroupOffsets."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.delete_share_group_offsets import DeleteShareGroupOffsetsRequest
from kcompat.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kcompat.protocol.uuids import ZERO_UUID
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying, Finalized
from support.group_apis import ONE, TWO, GroupHandlers, settle_sharer

Topic = DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic


@pytest.fixture
def broker() -> GroupHandlers:
    """A group without members that has begun in two topics."""
    broker = GroupHandlers()
    settle_sharer(broker, "t1", "t2")
    broker.ask(ShareGroupHeartbeatRequest("g", "m", -1), 1)
    return broker


def delete(broker: GroupHandlers, *names: str, group_id: str = "g") -> Any:
    """Send DeleteShareGroupOffsets, and return the answer."""
    return broker.ask(DeleteShareGroupOffsetsRequest(group_id, [Topic(name) for name in names]), 0)


def errors_of(answer: Any) -> list[tuple[Any, ...]]:
    """Topic, its id and error."""
    return sorted((row.topic_name, row.topic_id, row.error_code) for row in answer.responses)


def test_deleting(broker: GroupHandlers) -> None:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    answer = delete(broker, "t1", "absent", "t1")
    assert (answer.error_code, answer.error_message) == (0, None)
    assert errors_of(answer) == [("absent", ZERO_UUID, unknown), ("t1", ONE, 0)]
    assert {key.topic_id for key in broker.shares.states()} == {TWO}
    assert errors_of(delete(broker, "t1")) == [("t1", ZERO_UUID, unknown)]
    assert errors_of(delete(broker)) == []


def test_the_whole_request_is_refused(broker: GroupHandlers) -> None:
    settle_sharer(broker, "t1")
    for group_id, error in (
        ("g", ErrorCode.NON_EMPTY_GROUP),
        ("", ErrorCode.INVALID_GROUP_ID),
        ("absent", ErrorCode.GROUP_ID_NOT_FOUND),
    ):
        answer = delete(broker, "t1", group_id=group_id)
        assert (answer.error_code, bool(answer.error_message), answer.responses) == (error, True, [])


def test_who_may_not(broker: GroupHandlers) -> None:
    broker.authorizer = Denying((Operation.READ, Resource.topic("t1")))
    assert errors_of(delete(broker, "t1", "t2")) == [
        ("t1", ZERO_UUID, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        ("t2", TWO, 0),
    ]
    broker.authorizer = Denying((Operation.DELETE, Resource.group("g")))
    assert delete(broker, "t1").error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


def test_a_cluster_without_share_groups(broker: GroupHandlers) -> None:
    broker.features = Finalized()
    assert delete(broker, "t1").error_code == ErrorCode.UNSUPPORTED_VERSION
