"""DeleteRecords over real logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat.api import delete_records
from kcompat.protocol.messages.delete_records import DeleteRecordsRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying
from support.log_world import LogWorld

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def world(tmp_path: Path) -> LogWorld:
    world = LogWorld(tmp_path)
    world.create("t", partitions=2, topic_id=ONE)
    world.create("u", topic_id=TWO)
    world.produce((0, bytes(build_batch([Record(0, 1000, b"k", b"v")]))), topic="t")
    return world


ONE, TWO = b"1" * 16, b"2" * 16


def rows(world: LogWorld, version: int, *asked: tuple[str, int, int]) -> list[tuple[int, int]]:
    """Error and low watermark for each topic, partition and offset."""
    topics = [
        DeleteRecordsRequest.DeleteRecordsTopic(
            name=name, partitions=[DeleteRecordsRequest.DeleteRecordsPartition(index, offset)]
        )
        for name, index, offset in asked
    ]
    answer: Any = world.ask(delete_records, version, DeleteRecordsRequest(topics=topics))
    return [(row.error_code, row.low_watermark) for topic in answer.topics for row in topic.partitions]


@pytest.mark.parametrize("version", range(3))
@pytest.mark.parametrize("offset", [1, -1])
def test_the_log_starts_where_it_is_told_or_at_the_high_watermark(
    world: LogWorld, version: int, offset: int
) -> None:
    assert rows(world, version, ("t", 0, offset)) == [(0, 1)]
    assert world.partition("t").log.log_start_offset == 1


def test_what_cannot_be_deleted(world: LogWorld) -> None:
    world.create("__consumer_offsets")
    world.create("c", cleanup_policy="compact")
    asked = [
        ("t", 0, 2),
        ("t", 0, -2),
        ("t", 9, 0),
        ("none", 0, 0),
        ("__consumer_offsets", 0, 0),
        ("c", 0, 0),
    ]
    assert [error for error, _ in rows(world, 2, *asked)] == [1, 1, 3, 3, 17, 44]


def test_needs_to_delete_in_the_topic(world: LogWorld) -> None:
    hidden = ("t", "none")
    world.services.authorizer = Denying(*((Operation.DELETE, Resource.topic(name)) for name in hidden))
    assert rows(world, 2, ("t", 0, 1), ("none", 0, 0), ("u", 0, 0)) == [(29, -1), (29, -1), (0, 0)]
    assert world.partition("t").log.log_start_offset == 0
