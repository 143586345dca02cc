"""The high-level consumer of 0.8.2, which knows ZooKeeper alone.

It finds brokers, topics and the members of its group there, and keeps its offsets there, or in Kafka.
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaProducer
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from broker_cluster import BrokerCluster
from commands import Running
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from support.eventually import eventually
from support.kafka_jars import jvm
from support.raw_client import RawClient
from support.raw_requests import committed_offset, create_topic, find_coordinator
from support.zookeeper_broker import ZooKeeperBroker
from zookeeper_ensemble import ZooKeeperEnsemble

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

PARTITIONS = 4
VALUE = re.compile(r"[abc]-\d+")
TIMEOUT_S = 40


class Place(ABC):
    """Brokers, and where ZooKeeper's clients find them."""

    zookeeper: str
    """As consumers take it."""
    bootstrap: str

    @abstractmethod
    def client(self, group: str) -> RawClient:
        """A connection to the coordinator of a group, or to any broker."""

    @abstractmethod
    def create_topic(self, name: str) -> None:
        """Create a topic with `PARTITIONS`."""


class OneBroker(Place):
    """One broker, and the port at which it answers as a ZooKeeper."""

    def __init__(self, broker: ZooKeeperBroker) -> None:
        self.zookeeper = "{}:{}".format(*broker.zookeeper)
        self.bootstrap = broker.bootstrap
        self._port = broker.port

    def client(self, group: str) -> RawClient:
        return RawClient(("127.0.0.1", self._port))

    def create_topic(self, name: str) -> None:
        with self.client(name) as client:
            assert create_topic(client, name, partitions=PARTITIONS) == 0


class ThreeBrokers(Place):
    """Three brokers below a path of a real ZooKeeper."""

    def __init__(self, cluster: BrokerCluster, zookeeper: str) -> None:
        self.zookeeper = zookeeper
        self.bootstrap = cluster.bootstrap
        self.cluster = cluster

    def client(self, group: str) -> RawClient:
        while True:
            with self.cluster.client(self.cluster.metadata().controller_id) as client:
                found = client.call(FindCoordinatorRequest(key=group), 3)
            if not found.error_code:
                return self.cluster.client(found.node_id)
            time.sleep(0.1)

    def create_topic(self, name: str) -> None:
        self.cluster.create_topic(name, PARTITIONS)


THREE = pytest.mark.thorough("the same with one broker; test_groups_in_a_cluster.py has three")


@pytest.fixture(scope="module", params=["one broker", pytest.param("three brokers", marks=THREE)])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    if request.param == "one broker":
        with ZooKeeperBroker() as broker:
            yield OneBroker(broker)
    else:
        zookeeper = ZooKeeperEnsemble(members=1, chroot="/the/old")
        with BrokerCluster(ensemble=zookeeper) as cluster:
            yield ThreeBrokers(cluster, zookeeper.bootstrap)
            for broker in cluster.brokers.values():
                assert "Traceback" not in broker.log_tail(1_000_000), broker.log_tail(8000)


@pytest.fixture(scope="module")
def zookeeper(place: Place) -> Iterator[KazooClient]:
    client = KazooClient(place.zookeeper)
    client.start()
    yield client
    client.stop()
    client.close()


def consumer(
    place: Place, directory: Path, group: str, *options: str, storage: Sequence[str] = ()
) -> Running:
    properties = directory / f"{group}.properties"
    settings = (
        "auto.commit.interval.ms=200",
        "zookeeper.session.timeout.ms=4000",
        "rebalance.backoff.ms=500",
    )
    properties.write_text("\n".join((f"group.id={group}", *settings, *storage)))
    command = [*jvm("0.8.2.2"), "kafka.tools.ConsoleConsumer", "--topic", group]
    command += ["--zookeeper", place.zookeeper, *options]
    return Running([*command, "--consumer.config", properties])


def owners(zookeeper: KazooClient, group: str) -> list[bytes]:
    """Return the owner of each partition that has one."""
    path = f"/consumers/{group}/owners/{group}"
    try:
        return [zookeeper.get(f"{path}/{name}")[0] for name in zookeeper.get_children(path)]
    except NoNodeError:
        return []


def offsets_in_zookeeper(zookeeper: KazooClient, group: str) -> set[int | None]:
    """Return the group's offsets in ZooKeeper of the partitions of its topic; None for a partition without
    one.
    """
    paths = [f"/consumers/{group}/offsets/{group}/{number}" for number in range(PARTITIONS)]
    return {int(zookeeper.get(path)[0]) if zookeeper.exists(path) else None for path in paths}


def offsets_in_kafka(place: Place, group: str) -> set[int]:
    """Return the group's offsets in Kafka of the partitions of its topic; -1 for a partition without one."""
    with place.client(group) as raw:
        rows = [committed_offset(raw, group, group, number) for number in range(PARTITIONS)]
    return {row.committed_offset for row in rows}


def until(condition: Callable[[], bool], *consumers: Running) -> None:
    eventually(condition, lambda: [each.lines()[-5:] for each in consumers], TIMEOUT_S)


def produce(place: Place, topic: str, prefix: str) -> set[str]:
    values = {f"{prefix}-{number}" for number in range(40)}
    with KafkaProducer(bootstrap_servers=place.bootstrap, acks="all") as producer:
        for number, value in enumerate(sorted(values)):
            producer.send(topic, value.encode(), partition=number % PARTITIONS)
        producer.flush(20)
    return values


@contextmanager
def without_a_leader(cluster: BrokerCluster, topic: str) -> Iterator[None]:
    """The broker that leads the first partition is dead; in the end it is back."""
    leader = cluster.leader_of(topic, 0)
    cluster.brokers[leader].kill()
    cluster.wait(lambda shown: leader not in {part.leader_id for part in partitions_of(shown, topic)})
    yield
    cluster.restart(leader)
    cluster.wait_until_in_sync()


def partitions_of(shown: Any, topic: str) -> list[Any]:
    """Return the rows of a topic's partitions in a Metadata response."""
    return [part for row in shown.topics if row.name == topic for part in row.partitions]


@pytest.mark.parametrize("accident", [False, True])
def test_members_share_partitions_and_take_over_from_each_other(
    accident: bool, place: Place, zookeeper: KazooClient, tmp_path: Path
) -> None:
    group = f"group-{accident}"
    place.create_topic(group)
    with ExitStack() as stack:
        first = stack.enter_context(consumer(place, tmp_path, group, "--from-beginning"))
        consumers = [first]

        def seen() -> list[str]:
            lines = [line for each in consumers for line in each.lines()]
            return [line for line in lines if VALUE.fullmatch(line)]

        def are_committed(count: int) -> bool:
            return offsets_in_zookeeper(zookeeper, group) == {count}

        def are_shared_by(members: int) -> bool:
            owned = owners(zookeeper, group)
            return len(owned) == PARTITIONS and len(set(owned)) == members

        until(lambda: are_shared_by(1), *consumers)
        values = produce(place, group, "a")
        until(lambda: are_committed(10), *consumers)

        second = stack.enter_context(consumer(place, tmp_path, group))
        consumers.append(second)
        until(lambda: are_shared_by(2), *consumers)
        values |= produce(place, group, "b")
        until(lambda: are_committed(20), *consumers)

        if accident:
            first.kill()
        else:
            first.end()
        until(lambda: are_shared_by(1), *consumers)
        if isinstance(place, ThreeBrokers):
            stack.enter_context(without_a_leader(place.cluster, group))
        values |= produce(place, group, "c")
        until(lambda: are_committed(30), *consumers)
        assert sorted(seen()) == sorted(values), "each record once"
    until(lambda: zookeeper.get_children(f"/consumers/{group}/ids") == [])


def test_offsets_move_from_zookeeper_to_kafka_as_the_manual_says(
    place: Place, zookeeper: KazooClient, tmp_path: Path
) -> None:
    """First to Kafka and to ZooKeeper (`dual.commit.enabled`), then to Kafka alone."""
    group = "moving"
    place.create_topic(group)
    with place.client(group) as raw:
        until(lambda: find_coordinator(raw, group) == 0)  # a broker hears of its leader later than another
    in_kafka = "offsets.storage=kafka"
    steps = [
        ("a", ["--from-beginning"], ["offsets.storage=zookeeper"], {10}, {-1}),
        ("b", [], [in_kafka, "dual.commit.enabled=true"], {20}, {20}),
        ("c", [], [in_kafka, "dual.commit.enabled=false"], {20}, {30}),
    ]
    for prefix, options, storage, at_zookeeper, at_kafka in steps:
        values = produce(place, group, prefix)
        with consumer(place, tmp_path, group, *options, storage=storage) as running:
            until(
                lambda: (
                    offsets_in_zookeeper(zookeeper, group) == at_zookeeper  # noqa: B023 - called at once
                    and offsets_in_kafka(place, group) == at_kafka  # noqa: B023
                ),
                running,
            )
            seen = [line for line in running.lines() if VALUE.fullmatch(line)]
            running.end()
        assert sorted(seen) == sorted(values), "what was not read yet, each record once"
