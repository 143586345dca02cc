"""Three brokers that are measured beside three others, each in a process of its own, over a ZooKeeper."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import peers
import report
from trial import Work

from broker_cluster import BrokerCluster
from support.kcompat_broker import KcompatBroker
from zookeeper_kafka import ZooKeeperKafka

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from support.broker_process import BrokerProcess

BROKERS = 3
PATIENCE_S = 120


class MeasuredCluster(BrokerCluster):
    """Three brokers of a kind as they are installed: Kafka's with their usual heap and compiler."""

    def __init__(self, kind: str, ours: type[KcompatBroker] = KcompatBroker) -> None:
        """`ours` is what a broker of kcompat is."""
        self._ours = ours
        super().__init__((kind,) * BROKERS, peers.PROPERTIES)

    def broker_of(self, kind: str, properties: Mapping[str, str]) -> BrokerProcess:
        if kind == "kafka":
            return ZooKeeperKafka(self.zookeeper, properties=properties, heap=peers.HEAP, options=())
        return self.kcompat_of(self._ours, properties)


def chosen(*, with_kafka: bool, before: Path | None) -> dict[str, MeasuredCluster]:
    """The clusters that are to be measured, by the names of the report; none is started yet."""
    found = {report.OURS: MeasuredCluster("kcompat")}
    if before is not None:
        found[report.BEFORE] = MeasuredCluster("kcompat", peers.kcompat_before(before))
    if with_kafka:
        found[report.KAFKA] = MeasuredCluster("kafka")
    return found


@dataclass(frozen=True, kw_only=True)
class ClusterTrial(Work):
    """The input of a measure of several brokers."""

    cluster: MeasuredCluster
    behind_mb: int
    """How far behind a follower is that has to catch up, in MB (10^6 bytes)."""

    @property
    def brokers(self) -> list[BrokerProcess]:
        return list(self.cluster.brokers.values())

    @property
    def controller(self) -> BrokerProcess:
        """The broker that takes admin requests."""
        return self.cluster.brokers[self.cluster.metadata().controller_id]

    @contextlib.contextmanager
    def topic(self, partitions: int = 1, placed: Sequence[Sequence[int]] = ()) -> Iterator[str]:
        """A topic of three replicas, or as placed, for this trial; deleted afterwards."""
        name = f"{self.label}-topic"
        self.cluster.create_topic(name, partitions, BROKERS, placed)
        try:
            yield name
        finally:
            self.delete(name)

    def delete(self, topic: str) -> None:
        """Delete a topic and wait until no broker shows it."""
        peers.delete_topics(self.controller, [topic])
        self.cluster.wait(lambda shown: all(row.name != topic for row in shown.topics), PATIENCE_S)
