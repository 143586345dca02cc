"""DescribeShareGroupOffsets over both versions."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_share_group_offsets import DescribeShareGroupOffsetsRequest
from kcompat.protocol.uuids import ZERO_UUID
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying, Finalized
from support.group_apis import ONE, TWO, GroupHandlers, settle_sharer

Group = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
Topic = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestTopic


@pytest.fixture
def broker() -> GroupHandlers:
    """A group that starts at offset 4 of one partition, and has begun in others."""
    broker = GroupHandlers()
    broker.share_groups.alter_offsets("g", {"t1": {0: 4}})
    settle_sharer(broker, "t1", "t2")
    return broker


def ask(broker: GroupHandlers, topics: dict[str, list[int]] | None, version: int = 1) -> Any:
    """The one group of the answer."""
    rows = None if topics is None else [Topic(name, indexes) for name, indexes in topics.items()]
    (group,) = broker.ask(DescribeShareGroupOffsetsRequest([Group("g", rows)]), version).groups
    assert group.group_id == "g"
    return group


def rows_of(group: Any) -> list[tuple[Any, ...]]:
    """Topic, its id, partition, offset, lag and error."""
    return sorted(
        (topic.topic_name, topic.topic_id, row.partition_index, row.start_offset, row.lag, row.error_code)
        for topic in group.topics
        for row in topic.partitions
    )


@pytest.mark.parametrize("version", range(2))
def test_all_that_has_begun(broker: GroupHandlers, version: int) -> None:
    lag = -1 if version == 0 else 6
    assert rows_of(ask(broker, None, version)) == [
        ("t1", ONE, 0, 4, lag, 0),
        ("t1", ONE, 1, -1, -1, 0),
        ("t2", TWO, 0, -1, -1, 0),
    ]


def test_what_is_named(broker: GroupHandlers) -> None:
    assert rows_of(ask(broker, {"t1": [0, 9], "absent": [0]})) == [
        ("absent", ZERO_UUID, 0, -1, -1, 0),
        ("t1", ONE, 0, 4, 6, 0),
        ("t1", ONE, 9, -1, -1, 0),
    ]
    assert rows_of(ask(broker, {})) == []
    broker.ends.error = ErrorCode.LEADER_NOT_AVAILABLE
    assert rows_of(ask(broker, {"t1": [0]})) == [("t1", ONE, 0, 0, -1, ErrorCode.LEADER_NOT_AVAILABLE)]


def test_who_may_not(broker: GroupHandlers) -> None:
    broker.authorizer = Denying((Operation.DESCRIBE, Resource.topic("t1")))
    assert rows_of(ask(broker, None)) == [("t2", TWO, 0, -1, -1, 0)]
    error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert rows_of(ask(broker, {"t1": [0], "t2": [0]})) == [
        ("t1", ZERO_UUID, 0, -1, -1, error),
        ("t2", TWO, 0, -1, -1, 0),
    ]
    broker.authorizer = Denying((Operation.DESCRIBE, Resource.group("g")))
    assert ask(broker, None).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


def test_what_has_no_answer(broker: GroupHandlers) -> None:
    broker.fixture.coordinator.stop()
    group = ask(broker, None)
    assert (group.error_code, bool(group.error_message)) == (ErrorCode.NOT_COORDINATOR, True)
    broker.features = Finalized()
    assert ask(broker, None).error_code == ErrorCode.UNSUPPORTED_VERSION
