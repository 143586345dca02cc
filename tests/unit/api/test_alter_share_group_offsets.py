"""The handler of AlterShareGroupOffsets."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_share_group_offsets import AlterShareGroupOffsetsRequest
from kcompat.protocol.uuids import ZERO_UUID
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from kcompat.share.key import SharePartitionKey
from support.asking import Denying, Finalized
from support.group_apis import ONE, TWO, GroupHandlers, settle_sharer

Topic = AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic
Row = AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition


@pytest.fixture
def broker() -> GroupHandlers:
    return GroupHandlers()


def alter(broker: GroupHandlers, *topics: tuple[str, dict[int, int]], group_id: str = "g") -> Any:
    """Send AlterShareGroupOffsets, and return the answer."""
    rows = [Topic(name, [Row(*offset) for offset in offsets.items()]) for name, offsets in topics]
    return broker.ask(AlterShareGroupOffsetsRequest(group_id, rows), 0)


def errors_of(answer: Any) -> list[tuple[Any, ...]]:
    """Topic, its id, partition and error."""
    return sorted(
        (topic.topic_name, topic.topic_id, row.partition_index, row.error_code)
        for topic in answer.responses
        for row in topic.partitions
    )


def test_altering(broker: GroupHandlers) -> None:
    answer = alter(broker, ("t1", {0: 5, 9: 1}), ("absent", {0: 1}))
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert answer.error_code == 0
    assert errors_of(answer) == [
        ("absent", ZERO_UUID, 0, unknown),
        ("t1", ONE, 0, 0),
        ("t1", ONE, 9, unknown),
    ]
    assert broker.shares.states()[SharePartitionKey("g", ONE, 0)].start_offset == 5
    assert errors_of(alter(broker)) == []


def test_a_group_with_members(broker: GroupHandlers) -> None:
    settle_sharer(broker, "t1")
    answer = alter(broker, ("t1", {0: 5}))
    assert (answer.error_code, answer.responses) == (ErrorCode.NON_EMPTY_GROUP, [])
    assert answer.error_message
    assert alter(broker, ("t1", {0: 5}), group_id="").error_code == ErrorCode.INVALID_GROUP_ID


def test_who_may_not(broker: GroupHandlers) -> None:
    broker.authorizer = Denying((Operation.READ, Resource.topic("t1")))
    assert errors_of(alter(broker, ("t1", {0: 5}), ("t2", {0: 5}))) == [
        ("t1", ONE, 0, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        ("t2", TWO, 0, 0),
    ]
    broker.authorizer = Denying((Operation.READ, Resource.group("g")))
    assert alter(broker, ("t1", {0: 5})).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


def test_a_cluster_without_share_groups(broker: GroupHandlers) -> None:
    broker.features = Finalized()
    assert alter(broker, ("t1", {0: 5})).error_code == ErrorCode.UNSUPPORTED_VERSION
