"""DeleteRecords over real logs."""

from __future__ import annotations

import errno
from typing import Any

import pytest
from msgspec.structs import replace

from kcompat.api import delete_records
from kcompat.cluster.control_requests import Role
from kcompat.cluster.image import BrokerInfo
from kcompat.promise import Promise
from kcompat.protocol.messages.delete_records import DeleteRecordsRequest
from kcompat.replication.reading import FetchSpec, PartitionReader
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying
from support.topics_on_disk import ME, TopicsFixture


def rows(fixture: TopicsFixture, version: int, *asked: tuple[str, int, int]) -> list[tuple[int, int]]:
    """Error and low watermark for each topic, partition and offset."""
    topics = [
        DeleteRecordsRequest.DeleteRecordsTopic(
            name=name, partitions=[DeleteRecordsRequest.DeleteRecordsPartition(index, offset)]
        )
        for name, index, offset in asked
    ]
    answer: Any = fixture.ask(delete_records, version, DeleteRecordsRequest(topics=topics))
    return [(row.error_code, row.low_watermark) for topic in answer.topics for row in topic.partitions]


@pytest.mark.parametrize("version", range(3))
@pytest.mark.parametrize("offset", [1, -1])
def test_the_log_starts_where_it_is_told_or_at_the_high_watermark(
    fixture: TopicsFixture, version: int, offset: int
) -> None:
    assert rows(fixture, version, ("t", 0, offset)) == [(0, 1)]
    assert fixture.partition("t").log.log_start_offset == 1


def test_what_cannot_be_deleted(fixture: TopicsFixture) -> None:
    fixture.create("__consumer_offsets")
    fixture.create("c", cleanup_policy="compact")
    asked = [
        ("t", 0, 2),
        ("t", 0, -2),
        ("t", 9, 0),
        ("none", 0, 0),
        ("__consumer_offsets", 0, 0),
        ("c", 0, 0),
    ]
    assert [error for error, _ in rows(fixture, 2, *asked)] == [1, 1, 3, 3, 17, 44]


def test_needs_to_delete_in_the_topic(fixture: TopicsFixture) -> None:
    hidden = ("t", "none")
    fixture.services.server.authorizer = Denying(
        *((Operation.DELETE, Resource.topic(name)) for name in hidden)
    )
    assert rows(fixture, 2, ("t", 0, 1), ("none", 0, 0), ("u", 0, 0)) == [(29, -1), (29, -1), (0, 0)]
    assert fixture.partition("t").log.log_start_offset == 0


FOLLOWER = 2


@pytest.fixture
def leading(fixture: TopicsFixture) -> TopicsFixture:
    """A follower has everything of "t", and its log starts at 0."""
    fixture.cluster.image = replace(fixture.cluster.image, brokers={FOLLOWER: BrokerInfo(FOLLOWER, None, {})})
    role = Role(leader=ME, leader_epoch=1, isr=(ME, FOLLOWER), replicas=(ME, FOLLOWER))
    fixture.replicas.take_role("t", 0, role)
    follow(fixture, log_start_offset=0)
    return fixture


def follow(fixture: TopicsFixture, *, log_start_offset: int) -> None:
    """A fetch of the follower."""
    spec = FetchSpec(1, 1000, log_start_offset=log_start_offset)
    fixture.partition("t").note_fetch(spec, PartitionReader(replica_id=FOLLOWER), fixture.clock.now_ms())


def delete(fixture: TopicsFixture) -> Any:
    """The answer to a DeleteRecords up to the high watermark, or the promise of it."""
    row = DeleteRecordsRequest.DeleteRecordsPartition(0, 1)
    topic = DeleteRecordsRequest.DeleteRecordsTopic("t", [row])
    request = DeleteRecordsRequest([topic], timeout_ms=500)
    answer = delete_records.handle(fixture.context(2), request)
    return answer.map(first_row) if isinstance(answer, Promise) else first_row(answer)


def first_row(answer: Any) -> tuple[int, int]:
    """Error and low watermark."""
    row = answer.topics[0].partitions[0]
    return row.error_code, row.low_watermark


def test_the_answer_waits_until_the_follower_has_deleted_too(leading: TopicsFixture) -> None:
    waiting = delete(leading)
    assert leading.partition("t").log.log_start_offset == 1
    assert not waiting.done
    follow(leading, log_start_offset=1)
    assert waiting.value == (0, 1)


def test_a_follower_that_is_down_is_not_waited_for(leading: TopicsFixture) -> None:
    leading.cluster.image = replace(leading.cluster.image, brokers={})
    assert delete(leading) == (0, 1)


def test_after_the_timeout_the_answer_says_how_far_it_got(leading: TopicsFixture) -> None:
    waiting = delete(leading)
    leading.clock.advance(500)
    assert waiting.value == (7, 0)


def test_who_leads_no_more_says_so(leading: TopicsFixture) -> None:
    waiting = delete(leading)
    role = Role(leader=FOLLOWER, leader_epoch=2, isr=(ME, FOLLOWER), replicas=(ME, FOLLOWER))
    leading.replicas.take_role("t", 0, role)
    assert waiting.value == (6, -1)


def test_a_disk_that_fails_while_followers_are_waited_for_leaves_no_low_watermark(
    leading: TopicsFixture,
) -> None:
    waiting = delete(leading)
    leading.partition("t").log.context.fault(OSError(errno.EIO, "Input/output error"))
    follow(leading, log_start_offset=0)
    assert waiting.value == (56, -1)
