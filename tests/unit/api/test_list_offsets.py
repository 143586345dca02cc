"""ListOffsets over real logs, and what is refused before anything is looked up in one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat.api import list_offsets
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying

if TYPE_CHECKING:
    from support.log_world import LogWorld

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
UNSUPPORTED = ErrorCode.UNSUPPORTED_VERSION


def rows(world: LogWorld, version: int, *names: str, timestamp: int = -1, times: int = 1) -> list[Any]:
    """The answers for the first partition of each topic, asked for so many times."""
    asked = [ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=timestamp)] * times
    topics = [ListOffsetsRequest.ListOffsetsTopic(name=name, partitions=asked) for name in names]
    answer = world.ask(list_offsets, version, ListOffsetsRequest(replica_id=-1, topics=topics))
    return [row for topic in answer.topics for row in topic.partitions]


@pytest.mark.parametrize(
    ("version", "timestamp", "error"),
    [
        (0, -1, UNKNOWN),
        (0, 5, UNKNOWN),
        (0, -3, UNSUPPORTED),
        (6, -3, UNSUPPORTED),
        (7, -3, UNKNOWN),
        (7, -4, UNSUPPORTED),
        (8, -4, UNKNOWN),
        (9, -5, UNKNOWN),
        (9, -7, UNSUPPORTED),
        (11, -6, UNKNOWN),
    ],
)
def test_a_special_time_is_refused_before_the_partition(
    world: LogWorld, version: int, timestamp: int, error: ErrorCode
) -> None:
    assert [row.error_code for row in rows(world, version, "none", timestamp=timestamp)] == [error]


@pytest.mark.parametrize(("timestamp", "offset"), [(-1, 1), (-2, 0), (1000, 0), (1001, -1)])
@pytest.mark.parametrize("version", [1, 6, 11])
def test_offsets_by_time(world: LogWorld, version: int, timestamp: int, offset: int) -> None:
    (row,) = rows(world, version, "t", timestamp=timestamp)
    assert (row.error_code, row.offset) == (0, offset)


def test_a_partition_named_twice_is_refused_but_for_version_0(world: LogWorld) -> None:
    assert [row.error_code for row in rows(world, 1, "t", times=2)] == [42, 42]
    assert [row.old_style_offsets for row in rows(world, 0, "t", times=2)] == [[1], [1]]


@pytest.mark.parametrize("version", [0, 1, 11])
def test_needs_to_describe_the_topic_before_anything_is_said_of_it(world: LogWorld, version: int) -> None:
    hidden = ("t", "none")
    world.services.authorizer = Denying(*((Operation.DESCRIBE, Resource.topic(name)) for name in hidden))
    assert [row.error_code for row in rows(world, version, "t", "none", "u")] == [29, 29, 0]
    assert [row.error_code for row in rows(world, version, "t", times=2, timestamp=-99)] == [29, 29]
