"""Consumer groups of every family outlive their coordinator, which leads a partition they read."""

from __future__ import annotations

import itertools
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from broker_cluster import BrokerCluster
from commands import Running
from drivers.base import Record
from drivers.remote import in_its_own_process
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from support.eventually import eventually
from support.kafka_jars import jvm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from drivers.remote import Remote

pytestmark = pytest.mark.timeout(400)

FAMILIES = {"kafka-python": ("kafka_python", "KafkaPython3"), "confluent": ("confluent", "Confluent")}
FAMILIES["aiokafka"] = ("aio", "Aiokafka")
OTHER = pytest.mark.thorough("the same with a client of librdkafka, and with one of Java")
PARTITIONS = 3
COUNT = 30
PATIENCE_S = 60
PROPERTIES = ("heartbeat.interval.ms=300", "auto.offset.reset=earliest", "metadata.max.age.ms=1000")


@pytest.fixture(scope="module")
def cluster() -> Iterator[BrokerCluster]:
    with BrokerCluster() as running:
        yield running
        for broker in running.brokers.values():
            assert "Traceback" not in broker.log_tail(1_000_000), broker.log_tail(8000)


def numbered(first: int) -> list[Record]:
    return [Record(b"value %d" % n, partition=n % PARTITIONS) for n in range(first, first + COUNT)]


def coordinator_of(cluster: BrokerCluster, group: str) -> int:
    """Return the coordinator of a group; -1 if it has none."""
    with cluster.client(cluster.metadata().controller_id) as client:
        answer = client.call(FindCoordinatorRequest(key=group), 3)
    return -1 if answer.error_code else int(answer.node_id)


def topic_led_by_a_coordinator(cluster: BrokerCluster, name: str) -> tuple[str, int]:
    """A topic with a group of that name, and the broker that leads its first partition and coordinates it."""
    eventually(lambda: coordinator_of(cluster, name) > 0, "the group has a coordinator", PATIENCE_S)
    coordinator = coordinator_of(cluster, name)
    others = [broker_id for broker_id in cluster.brokers if broker_id != coordinator]
    turns = itertools.islice(itertools.cycle([coordinator, *others] * 2), PARTITIONS + 2)
    order = list(turns)
    cluster.create_topic(name, PARTITIONS, placed=[order[at : at + 3] for at in range(PARTITIONS)])
    return name, coordinator


@pytest.mark.parametrize(
    "family", [pytest.param("kafka-python", marks=OTHER), "confluent", pytest.param("aiokafka", marks=OTHER)]
)
def test_a_group_outlives_its_coordinator(cluster: BrokerCluster, name: str, family: str) -> None:
    topic, coordinator = topic_led_by_a_coordinator(cluster, name)
    driver = in_its_own_process(*FAMILIES[family], cluster.bootstrap)
    try:
        members = [driver.join(topic, topic) for _ in range(2)]
        eventually(lambda: is_shared(driver, members), "both members own a part", PATIENCE_S)
        driver.produce(topic, numbered(0))
        eventually(lambda: len(values(driver, members)) >= COUNT, "all records have arrived", PATIENCE_S)
        commit_all(driver, members, topic)
        cluster.brokers[coordinator].kill()
        driver.produce(topic, numbered(COUNT))
        eventually(
            lambda: set(values(driver, members)) == {f"value {n}" for n in range(2 * COUNT)},
            "the later records have arrived too",
            PATIENCE_S,
        )
        assert coordinator_of(cluster, topic) not in (-1, coordinator)
        assert committed(cluster, topic) == [10, 10, 10]
        eventually(lambda: is_shared(driver, members), "both members are there", PATIENCE_S)
        commit_all(driver, members, topic)
        cluster.brokers[coordinator].start()
        cluster.wait_until_in_sync()
        assert committed(cluster, topic) == [20, 20, 20]
    finally:
        driver.close()
        if not cluster.brokers[coordinator].is_running():
            cluster.brokers[coordinator].start()


def is_shared(driver: Remote, members: list[str]) -> bool:
    """Whether every member owns something, and nothing is owned twice."""
    owned = [driver.assigned(member) for member in members]
    return all(owned) and sorted(itertools.chain(*owned)) == list(range(PARTITIONS))


def values(driver: Remote, members: list[str]) -> list[str]:
    """Return the values that the members have received."""
    return [(record.value or b"").decode() for member in members for record in driver.received(member)]


def commit_all(driver: Remote, members: list[str], topic: str) -> None:
    """Each member commits all that was written to its partitions."""
    counts = dict.fromkeys(range(PARTITIONS), 0)
    for value in set(values(driver, members)):
        counts[int(value.removeprefix("value ")) % PARTITIONS] += 1
    for member in members:
        for index in driver.assigned(member):
            driver.commit(member, topic, index, counts[index])


def committed(cluster: BrokerCluster, group: str) -> list[int]:
    """Return the committed offsets of the topic's group, read by a client that can do without one of the
    brokers.
    """
    with closing(in_its_own_process(*FAMILIES["confluent"], cluster.bootstrap)) as driver:
        return [driver.committed(group, group, index) for index in range(PARTITIONS)]


@pytest.mark.parametrize("version", [pytest.param("3.9.2", marks=OTHER), "4.3.0"])
def test_a_java_group_outlives_its_coordinator(cluster: BrokerCluster, name: str, version: str) -> None:
    topic, coordinator = topic_led_by_a_coordinator(cluster, name)
    option = "--consumer-property" if version.startswith("3.") else "--command-property"
    command = [*jvm(version), "org.apache.kafka.tools.consumer.ConsoleConsumer"]
    command += ["--bootstrap-server", cluster.bootstrap, "--topic", topic, "--group", topic]
    command += [word for text in PROPERTIES for word in (option, text)]
    driver = in_its_own_process(*FAMILIES["confluent"], cluster.bootstrap)
    driver.produce(topic, numbered(0))
    with Running(command) as consumer:
        eventually(lambda: has_all(consumer, COUNT), "all records have arrived", PATIENCE_S)
        cluster.brokers[coordinator].kill()
        try:
            driver.produce(topic, numbered(COUNT))
            eventually(lambda: has_all(consumer, 2 * COUNT), "the later records have arrived too", PATIENCE_S)
        finally:
            cluster.brokers[coordinator].start()
            cluster.wait_until_in_sync()
    eventually(
        lambda: committed(cluster, topic) == [20, 20, 20],
        "the consumer has committed what it read as it left",
        PATIENCE_S,
    )
    driver.close()


def has_all(consumer: Running, count: int) -> bool:
    """Whether a console consumer has printed the first so many values."""
    return {f"value {n}" for n in range(count)} <= set(consumer.lines())
