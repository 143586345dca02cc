"""ListOffsets over real logs, and what is refused before anything is looked up in one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat.api import list_offsets
from kcompat.cluster.control_requests import Role
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying

if TYPE_CHECKING:
    from support.topics_on_disk import TopicsFixture

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
UNSUPPORTED = ErrorCode.UNSUPPORTED_VERSION


def rows(fixture: TopicsFixture, version: int, *names: str, timestamp: int = -1, times: int = 1) -> list[Any]:
    """The answers for the first partition of each topic, asked for so many times."""
    asked = [ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=timestamp)] * times
    topics = [ListOffsetsRequest.ListOffsetsTopic(name=name, partitions=asked) for name in names]
    answer = fixture.ask(list_offsets, version, ListOffsetsRequest(replica_id=-1, topics=topics))
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
    fixture: TopicsFixture, version: int, timestamp: int, error: ErrorCode
) -> None:
    assert [row.error_code for row in rows(fixture, version, "none", timestamp=timestamp)] == [error]


@pytest.mark.parametrize(("timestamp", "offset"), [(-1, 1), (-2, 0), (1000, 0), (1001, -1)])
@pytest.mark.parametrize("version", [1, 6, 11])
def test_offsets_by_time(fixture: TopicsFixture, version: int, timestamp: int, offset: int) -> None:
    (row,) = rows(fixture, version, "t", timestamp=timestamp)
    assert (row.error_code, row.offset) == (0, offset)


def test_version_0_shows_a_broker_the_log_end_and_a_consumer_what_is_committed(
    fixture: TopicsFixture,
) -> None:
    """The follower has not fetched what is appended now. Whoever debugs (-2) sees all as well."""
    fixture.replicas.take_role("t", 0, Role(leader=1, leader_epoch=1, isr=(1, 2), replicas=(1, 2)))
    fixture.partition("t").log.roll(0)
    for timestamp in (2000, 3000):
        fixture.produce((0, bytes(build_batch([Record(0, timestamp, b"k", b"v")]))), topic="t")

    def old_style(replica: int, timestamp: int = -1, limit: int = 9) -> list[int]:
        asked = ListOffsetsRequest.ListOffsetsPartition(
            partition_index=0, timestamp=timestamp, max_num_offsets=limit
        )
        topics = [ListOffsetsRequest.ListOffsetsTopic(name="t", partitions=[asked])]
        answer = fixture.ask(list_offsets, 0, ListOffsetsRequest(replica_id=replica, topics=topics))
        offsets: list[int] = answer.topics[0].partitions[0].old_style_offsets
        return offsets

    assert [old_style(-1), old_style(2), old_style(-2)] == [[1, 1, 0], [3, 1, 0], [3, 1, 0]]
    assert [old_style(-1, limit=1), old_style(2, limit=1)] == [[1], [3]]
    assert [old_style(2, -2), old_style(2, 1000), old_style(2, 3000), old_style(2, 999)] == [
        [0],
        [0],
        [1, 0],
        [],
    ]


def test_a_partition_named_twice_is_refused_but_for_version_0(fixture: TopicsFixture) -> None:
    assert [row.error_code for row in rows(fixture, 1, "t", times=2)] == [42, 42]
    assert [row.old_style_offsets for row in rows(fixture, 0, "t", times=2)] == [[1], [1]]


@pytest.mark.parametrize("version", [0, 1, 11])
def test_needs_to_describe_the_topic_before_anything_is_said_of_it(
    fixture: TopicsFixture, version: int
) -> None:
    hidden = ("t", "none")
    fixture.services.server.authorizer = Denying(
        *((Operation.DESCRIBE, Resource.topic(name)) for name in hidden)
    )
    assert [row.error_code for row in rows(fixture, version, "t", "none", "u")] == [29, 29, 0]
    assert [row.error_code for row in rows(fixture, version, "t", times=2, timestamp=-99)] == [29, 29]
