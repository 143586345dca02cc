"""Consumers with a `client.rack` read from the replica in their rack (KIP-392), and from the leader while
that replica is dead or behind.

``pytest --target=kafka`` plays the same with three real Kafkas.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from broker_cluster import BrokerCluster
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from kcompat.replication.preferred_replica import RACK_AWARE_SELECTOR
from readers_in_racks import JavaReader, LibrdkafkaReader, Reader
from support.eventually import eventually
from support.raw_requests import describe_topic, produce

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FAR, LEADER, NEAR = 1, 2, 3
RACKS = ("a", "b", "c")
SETTINGS = {
    "replica.selector.class": RACK_AWARE_SELECTOR,
    "replica.lag.time.max.ms": "1000",
    "min.insync.replicas": "1",
    "auto.leader.rebalance.enable": "false",
}
SIZE = 50_000
"""Bytes of a record: far more than all else that a broker sends in the meantime."""


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[BrokerCluster]:
    kind: str = request.config.getoption("--target")
    with BrokerCluster((kind,) * 3, SETTINGS, racks=RACKS) as running:
        yield running
        for broker in running.brokers.values():
            assert "Traceback" not in broker.log_tail(1_000_000), broker.log_tail(8000)


class Story:
    """A reader in the rack of `NEAR`, a producer, and who sent the reader what was produced."""

    def __init__(self, cluster: BrokerCluster, topic: str, reader: Reader) -> None:
        self._cluster = cluster
        self._topic = topic
        self._reader = reader
        self._produced: list[str] = []

    def next_from(self) -> int:
        """Which broker sends the next record, a while after it has been written."""
        before = self._reader.received()
        value = str(len(self._produced)).ljust(SIZE, "x")
        self._produced.append(value)
        batch = build_batch([Record(0, int(time.time() * 1000), None, value.encode())])
        with self._cluster.client(LEADER) as client:
            assert produce(client, self._topic, batch).error_code == 0
        eventually(lambda: len(self._reader.values()) >= len(self._produced), "the record has come")
        assert self._reader.values() == self._produced, "each record once, in order"
        senders: list[int] = []

        def has_counted() -> bool:
            senders[:] = [
                broker for broker, size in self._reader.received().items() if size - before[broker] >= SIZE
            ]
            return bool(senders)

        eventually(has_counted, "what was sent is counted")
        (sender,) = senders
        return sender

    def isr(self) -> set[int]:
        """Return the ISR as the leader's broker has it."""
        with self._cluster.client(LEADER) as client:
            (part,) = describe_topic(client, self._topic).partitions
        return set(part.isr_nodes)


@pytest.mark.parametrize(
    "kind",
    [pytest.param(JavaReader, marks=pytest.mark.thorough("the same with librdkafka")), LibrdkafkaReader],
)
def test_the_replica_in_the_rack_serves_while_it_is_in_sync(
    cluster: BrokerCluster, name: str, kind: type[JavaReader | LibrdkafkaReader], tmp_path: Path
) -> None:
    cluster.create_topic(name, 1, placed=[[LEADER, FAR, NEAR]])
    with kind(cluster.bootstrap, name, RACKS[NEAR - 1], tmp_path) as reader:
        story = Story(cluster, name, reader)
        assert [story.next_from() for _ in range(3)] == [NEAR] * 3

        cluster.freeze(NEAR)
        try:
            assert [story.next_from() for _ in range(2)] == [LEADER] * 2
            assert story.isr() == {LEADER, FAR}
        finally:
            cluster.thaw(NEAR)
        cluster.wait_until_in_sync()
        eventually(lambda: story.next_from() == NEAR, "it serves again")

        cluster.brokers[NEAR].kill()
        assert [story.next_from() for _ in range(2)] == [LEADER] * 2
        cluster.restart(NEAR)
        cluster.wait_until_in_sync()
        eventually(lambda: story.next_from() == NEAR, "it serves again")
        assert cluster.leader_of(name, 0) == LEADER


def test_a_rack_without_a_replica_is_served_by_the_leader(
    cluster: BrokerCluster, name: str, tmp_path: Path
) -> None:
    cluster.create_topic(name, 1, placed=[[LEADER, FAR]])
    with LibrdkafkaReader(cluster.bootstrap, name, RACKS[NEAR - 1], tmp_path) as reader:
        story = Story(cluster, name, reader)
        assert [story.next_from() for _ in range(2)] == [LEADER] * 2
