"""Produce over real logs."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from kcompat.cluster.control_requests import Role
from kcompat.cluster.image import BrokerInfo, ClusterImage, PartitionInfo, TopicImage
from kcompat.log.refusals import MOST_RUNS
from kcompat.net.answers import CLOSE
from kcompat.protocol.errors import ErrorCode
from kcompat.replication.replica_manager import MOST_AWAITED
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation, ResourceType
from support.asking import Denying
from support.log_harness import make_batch
from support.topics_on_disk import ME, ONE, TWO, TopicsFixture, batch, rows, topic_data

if TYPE_CHECKING:
    from pathlib import Path


BIG = bytes(1000 * 1000)


@pytest.fixture
def broker(tmp_path: Path) -> TopicsFixture:
    broker = TopicsFixture(tmp_path)
    broker.create("t", partitions=3)
    return broker


def test_what_comes_after_a_big_batch_is_placed_for_where_that_one_ended(broker: TopicsFixture) -> None:
    big, small = batch(BIG), batch(b"v")
    broker.produce((0, big))
    broker.produce((0, small))
    broker.produce((0, big))
    assert broker.peer.placed == [(len(big), len(big)), (len(big), len(big + small + big))]
    broker.produce((0, big), (1, big))  # of two nobody knows which comes next
    assert len(broker.peer.placed) == 2


@pytest.mark.parametrize("acks", [1, -1])
def test_a_partition_whose_role_has_not_come_is_not_led_here(broker: TopicsFixture, acks: int) -> None:
    here = PartitionInfo(leader=-1, leader_epoch=1, isr=(ME,), replicas=(ME,))
    image = ClusterImage("cluster").with_topics([TopicImage("t", bytes(16), {0: here, 1: here})])
    broker.cluster.update(image)
    broker.replicas.remove("t", 1)
    answer = broker.produce((1, batch(BIG)), acks=acks)
    assert rows(answer) == [(1, ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)]


def test_needs_to_write_to_the_topic_before_anything_is_said_of_it(broker: TopicsFixture) -> None:
    broker.services.server.authorizer = Denying((Operation.WRITE, ResourceType.TOPIC))
    for topic, acks in (("t", 1), ("none", 1), ("__consumer_offsets", 1), ("t", 7)):
        assert rows(broker.produce((0, batch(b"v")), topic=topic, acks=acks)) == [(0, 29, -1)]
    assert broker.produce((0, batch(b"v")), acks=0) is CLOSE
    assert broker.values("t") == []


def test_that_a_partition_is_unknown_is_said_before_what_else_is_wrong(broker: TopicsFixture) -> None:
    assert rows(broker.produce((0, batch(b"v")), (9, batch(b"v")), acks=7)) == [(0, 21, -1), (9, 3, -1)]
    assert rows(broker.produce((0, batch(b"v")), topic="__consumer_offsets")) == [(0, 3, -1)]


def test_needs_to_write_to_the_transactional_id(broker: TopicsFixture) -> None:
    broker.services.server.authorizer = Denying(
        (Operation.WRITE, Resource.transactional_id("x")), (Operation.WRITE, ResourceType.TOPIC)
    )
    sent = batch(b"v", producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    for transactional_id, data, error in (
        ("x", sent, 53),
        (None, sent, 53),
        ("y", sent, 29),
        ("x", batch(b"v"), 29),
    ):
        answer = broker.produce((0, data), (1, data), transactional_id=transactional_id)
        assert [row[1] for row in rows(answer)] == [error, error]
    assert broker.produce((0, sent), transactional_id="x", acks=0) is CLOSE


@pytest.mark.parametrize("by_id", [False, True])
def test_a_topic_in_two_entries_is_one(broker: TopicsFixture, by_id: bool) -> None:
    """Its partition waits for its last batch, and no row of it is answered before."""
    version = 13 if by_id else 9
    broker.create("one", partitions=2, topic_id=ONE)
    broker.create("two", topic_id=TWO)
    both = Role(leader=ME, leader_epoch=1, isr=(ME, OTHER), replicas=(ME, OTHER))
    broker.replicas.take_role("one", 0, both)

    def entry(name: str, *batches: tuple[int, bytes | None]) -> Any:
        topic_id = {"one": ONE, "two": TWO}[name]
        return topic_data(*batches, topic_id=topic_id) if by_id else topic_data(*batches, topic=name)

    waiting = broker.produce_all(
        [
            entry("one", (0, batch(b"a"))),
            entry("two", (0, batch(b"b"))),
            entry("one", (1, batch(b"c")), (0, batch(b"d"))),
        ],
        version=version,
        acks=-1,
    )
    assert broker.values("one") == [b"d"]
    assert not waiting.done
    broker.clock.advance(1000)
    answer = waiting.value
    assert rows(answer) == [(0, ErrorCode.REQUEST_TIMED_OUT, 0), (1, 0, 0), (0, 0, 0)]
    named = [topic.topic_id if by_id else topic.name for topic in answer.responses]
    assert named == ([ONE, TWO] if by_id else ["one", "two"])


def test_a_batch_that_is_there_already_is_not_acknowledged_where_the_disk_has_failed(
    broker: TopicsFixture,
) -> None:
    """The batch may be on no other broker, and cannot be fetched from this one."""
    both = Role(leader=ME, leader_epoch=1, isr=(ME, OTHER), replicas=(ME, OTHER))
    broker.replicas.take_role("t", 0, both)
    sent = batch(b"a", producer_id=7, producer_epoch=0, base_sequence=0)
    assert not broker.produce((0, sent), acks=-1).done
    broker.partition("t").log.context.fault(OSError(errno.EIO, "Input/output error"))
    answer = broker.produce((0, sent), acks=-1)
    assert rows(answer) == [(0, ErrorCode.KAFKA_STORAGE_ERROR, -1)]


def test_a_transaction_behind_another_batch_needs_its_permission(broker: TopicsFixture) -> None:
    """A request in which not the first batch is one of a transaction does not evade the check
    (CVE-2018-17196).
    """
    broker.services.server.authorizer = Denying((Operation.WRITE, Resource.transactional_id("x")))
    sent = batch(b"v", producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    for transactional_id in ("x", None):
        answer = broker.produce((0, batch(b"v")), (1, sent), transactional_id=transactional_id)
        assert [error for _, error, _ in rows(answer)] == [53, 53]
    assert broker.values("t") == []


def test_a_transaction_in_a_batch_that_another_replaces_needs_its_permission(broker: TopicsFixture) -> None:
    broker.services.server.authorizer = Denying((Operation.WRITE, Resource.transactional_id("x")))
    sent = batch(b"v", producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    entries = [topic_data((0, sent)), topic_data((0, batch(b"v")))]
    answer = broker.produce_all(entries, transactional_id="x")
    assert {error for _, error, _ in rows(answer)} == {ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED}


OTHER = 2


def stand_back(broker: TopicsFixture, epoch: int) -> None:
    """Another broker leads partition 0."""
    role = Role(leader=OTHER, leader_epoch=epoch, isr=(ME, OTHER), replicas=(ME, OTHER))
    broker.replicas.take_role("t", 0, role)


def who_leads(answer: Any) -> tuple[int, int, int, list[tuple[int, str, int, str | None]]]:
    """The error of the first row, the leader that it names and its epoch, and where the leaders are."""
    row = answer.responses[0].partition_responses[0]
    nodes = [(node.node_id, node.host, node.port, node.rack) for node in answer.node_endpoints]
    return row.error_code, row.current_leader.leader_id, row.current_leader.leader_epoch, nodes


@pytest.fixture
def among_others(broker: TopicsFixture) -> TopicsFixture:
    way = {"PLAINTEXT": ("other", 9093)}
    broker.cluster.image = replace(broker.cluster.image, brokers={OTHER: BrokerInfo(OTHER, "rack", way)})
    broker.services.cluster.broker_id = ME
    return broker


def test_who_leads_instead_is_said_with_the_way_there(among_others: TopicsFixture) -> None:
    """The current leader and its address come with the error (KIP-951)."""
    stand_back(among_others, epoch=5)
    known = (6, OTHER, 5, [(OTHER, "other", 9093, "rack")])
    assert who_leads(among_others.produce((0, batch(b"v")), version=10)) == known
    assert who_leads(among_others.produce((0, batch(b"v")), version=9)) == (6, -1, -1, [])


def test_who_leads_a_partition_that_is_not_here_is_what_clients_are_shown(
    among_others: TopicsFixture,
) -> None:
    elsewhere = PartitionInfo(leader=OTHER, leader_epoch=3, isr=(OTHER,), replicas=(OTHER,))
    image = among_others.cluster.image
    shown = image.with_topics([TopicImage("u", bytes(16), {0: elsewhere})])
    among_others.cluster.image = shown
    answer = among_others.produce((0, batch(b"v")), topic="u", version=10)
    assert who_leads(answer) == (6, OTHER, 3, [(OTHER, "other", 9093, "rack")])


def test_it_is_said_as_well_to_who_waits_when_that_happens(among_others: TopicsFixture) -> None:
    role = Role(leader=ME, leader_epoch=4, isr=(ME, OTHER), replicas=(ME, OTHER))
    among_others.replicas.take_role("t", 0, role)
    waiting = among_others.produce((0, batch(b"v")), version=10, acks=-1)
    stand_back(among_others, epoch=5)
    assert who_leads(waiting.value) == (6, OTHER, 5, [(OTHER, "other", 9093, "rack")])


def test_a_batch_behind_one_that_came_before_the_election_is_sent_here_again(
    among_others: TopicsFixture,
) -> None:
    """The batch is refused as that one was, and the leader to ask is this broker by now."""

    def answer(sequence: int) -> tuple[int, int]:
        sent = bytes(make_batch(producer_id=7, producer_epoch=0, base_sequence=sequence))
        return who_leads(among_others.produce((0, sent), version=10))[:2]

    stand_back(among_others, epoch=5)
    assert answer(0) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, OTHER)
    role = Role(leader=ME, leader_epoch=6, isr=(ME, OTHER), replicas=(ME, OTHER))
    among_others.replicas.take_role("t", 0, role)
    assert answer(1) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, ME)
    assert [answer(0), answer(1)] == [(ErrorCode.NONE, -1)] * 2


def test_a_batch_behind_one_that_came_before_its_topic_is_not_the_first(broker: TopicsFixture) -> None:
    """A log takes any sequence of an unknown producer; then the first batch could never be written."""

    def answer(sequence: int) -> int:
        sent = bytes(make_batch(producer_id=7, producer_epoch=0, base_sequence=sequence))
        (row,) = rows(broker.produce((0, sent), topic="late"))
        return row[1]

    assert answer(0) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    broker.create("late")
    assert answer(1) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert [answer(0), answer(1), answer(3)] == [0, 0, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]


@pytest.mark.parametrize("topic", ["never", "late"])
def test_batches_for_topics_that_never_come_take_little_memory(broker: TopicsFixture, topic: str) -> None:
    def refuse(topic: str, producer_id: int, sequence: int = 0) -> None:
        sent = bytes(make_batch(producer_id=producer_id, producer_epoch=0, base_sequence=sequence))
        assert rows(broker.produce((0, sent), topic=topic)) == [(0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)]

    refuse("late", 7)
    for number in range(MOST_AWAITED if topic == "never" else 0):
        refuse(f"never-{number}", 7)
    for number in range(MOST_RUNS if topic == "late" else 0):
        refuse("late", 8 + number)
    broker.create("late")
    second = bytes(make_batch(producer_id=7, producer_epoch=0, base_sequence=1))
    assert rows(broker.produce((0, second), topic="late")) == [(0, ErrorCode.NONE, 0)]
