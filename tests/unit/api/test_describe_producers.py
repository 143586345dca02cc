"""DescribeProducers over real logs."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

from kcompat.api import describe_producers
from kcompat.cluster.control_requests import Role
from kcompat.protocol.messages.describe_producers import DescribeProducersRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying

if TYPE_CHECKING:
    from support.topics_on_disk import TopicsFixture


def rows(fixture: TopicsFixture, *asked: tuple[str, int]) -> list[Any]:
    topics = [
        DescribeProducersRequest.TopicRequest(name=name, partition_indexes=[index]) for name, index in asked
    ]
    answer: Any = fixture.ask(describe_producers, 0, DescribeProducersRequest(topics=topics))
    return [row for topic in answer.topics for row in topic.partitions]


def test_the_producers_that_a_partition_remembers(fixture: TopicsFixture) -> None:
    sent = build_batch([Record(0, 1000, b"k", b"v")] * 2, producer_id=7, producer_epoch=3, base_sequence=0)
    fixture.produce((0, bytes(sent)), topic="u")
    (row,) = rows(fixture, ("u", 0))
    (producer,) = row.active_producers
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (7, 3, 1)
    assert (producer.last_timestamp, producer.current_txn_start_offset) == (1000, -1)
    assert [row.active_producers for row in rows(fixture, ("t", 0))] == [[]]


def test_a_follower_shows_what_it_remembers(fixture: TopicsFixture) -> None:
    sent = build_batch([Record(0, 1000, b"k", b"v")], producer_id=7, producer_epoch=3, base_sequence=0)
    fixture.produce((0, bytes(sent)), topic="u")
    fixture.replicas.take_role("u", 0, Role(leader=2, leader_epoch=1, isr=(1, 2), replicas=(1, 2)))
    (row,) = rows(fixture, ("u", 0))
    assert (row.error_code, [producer.producer_id for producer in row.active_producers]) == (0, [7])


def test_a_broker_without_a_replica_and_one_whose_disk_has_failed_show_none(fixture: TopicsFixture) -> None:
    fixture.replicas.remove("t", 1)
    fixture.partition("u").log.context.fault(OSError(errno.EIO, "Input/output error"))
    assert [row.error_code for row in rows(fixture, ("t", 1), ("u", 0))] == [6, 56]


def test_partitions_that_have_none_to_show(fixture: TopicsFixture) -> None:
    found = rows(fixture, ("t", 9), ("none", 0), ("a b", 0))
    assert [(row.error_code, row.error_message is not None) for row in found] == [
        (3, False),
        (3, True),
        (17, True),
    ]


def test_needs_to_read_the_topic_once_its_name_is_one(fixture: TopicsFixture) -> None:
    hidden = ("t", "none", "a b")
    fixture.services.server.authorizer = Denying(*((Operation.READ, Resource.topic(name)) for name in hidden))
    found = rows(fixture, ("t", 0), ("t", 9), ("none", 0), ("a b", 0), ("u", 0))
    assert [row.error_code for row in found] == [29, 29, 29, 17, 0]
