"""Our ZooKeeper port beside a real ZooKeeper, and under programs that know nothing else."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kazoo.client import KazooClient

from commands import run
from support.kafka_jars import jvm
from support.raw_client import RawClient
from support.raw_requests import create_topic
from support.zookeeper_broker import ZooKeeperBroker
from zookeeper_kafka import ZooKeeper, ZooKeeperKafka
from zookeeper_scripts import Script, play

if TYPE_CHECKING:
    from collections.abc import Iterator

STEPS = 300
SESSION_MS = 6000


@pytest.fixture(scope="module")
def broker() -> Iterator[ZooKeeperBroker]:
    with ZooKeeperBroker() as broker:
        yield broker


@pytest.fixture(scope="module")
def zookeeper() -> Iterator[ZooKeeper]:
    with ZooKeeper() as zookeeper:
        yield zookeeper


MORE = pytest.mark.thorough("the first seed")


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=MORE) for seed in range(1, 12))])
def test_random_requests_are_answered_as_by_a_real_zookeeper(
    seed: int, broker: ZooKeeperBroker, zookeeper: ZooKeeper
) -> None:
    base = f"/script{seed}"
    steps = Script(seed, base).steps(STEPS)
    theirs = play(("127.0.0.1", zookeeper.port), base, steps)
    ours = play(broker.zookeeper, base, steps)
    for number, (step, their, our) in enumerate(zip(steps, theirs, ours, strict=True)):
        assert our == their, (number, step)
    assert sum(reply[1] == 0 for reply, _ in theirs) > STEPS // 4, "most requests were refused"
    assert any(any(told) for _, told in theirs), "no watch was told anything"


def test_zookeeper_shell(broker: ZooKeeperBroker) -> None:
    def shell(*command: str) -> str:
        main = ("org.apache.zookeeper.ZooKeeperMain", "-server", f"127.0.0.1:{broker.zookeeper_port}")
        return run([*jvm("3.9.2"), *main, *command])

    assert "[1]" in shell("ls", "/brokers/ids")
    assert f'"port":{broker.port}' in shell("get", "/brokers/ids/1")
    shell("create", "/from-the-shell", "data")
    shown = shell("stat", "/from-the-shell")
    assert "dataLength = 4" in shown
    assert "ephemeralOwner = 0x0" in shown
    assert "'world,'anyone\n: cdrwa" in shell("getAcl", "/from-the-shell")
    shell("delete", "/from-the-shell")


@dataclass(frozen=True)
class OurPort:
    """Our port as an `Ensemble` of one server."""

    bootstrap: str


def kafka_on(broker: ZooKeeperBroker) -> ZooKeeperKafka:
    """A real Kafka that keeps its metadata in our broker's store, below a node of its own."""
    ensemble = OurPort(f"127.0.0.1:{broker.zookeeper_port}")
    settings = {"zookeeper.session.timeout.ms": str(SESSION_MS), "broker.id": "7"}
    return ZooKeeperKafka(ensemble, properties=settings, chroot="/real-kafka")


def produced(kafka: ZooKeeperKafka, topic: str, values: list[bytes]) -> None:
    with KafkaProducer(bootstrap_servers=kafka.bootstrap, acks="all") as producer:
        for value in values:
            producer.send(topic, value, partition=0).get(20)


def read(kafka: ZooKeeperKafka, topic: str, count: int) -> list[bytes]:
    consumer = KafkaConsumer(
        topic, bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", consumer_timeout_ms=20_000
    )
    with consumer:
        return [next(consumer).value for _ in range(count)]


def test_a_real_kafka_keeps_its_metadata_here(broker: ZooKeeperBroker) -> None:
    client = KazooClient(f"127.0.0.1:{broker.zookeeper_port}")
    client.start()
    try:
        with kafka_on(broker) as kafka:
            with RawClient(("127.0.0.1", kafka.port)) as raw:
                for number in range(20):
                    assert (
                        create_topic(
                            raw, f"topic-{number}", partitions=5, configs={"retention.ms": "5000000"}
                        )
                        == 0
                    )
            assert len(client.get_children("/real-kafka/brokers/topics")) == 20
            produced(kafka, "topic-0", [b"one", b"two"])
            _, stat = client.get("/real-kafka/brokers/ids/7")
            owner = stat.ephemeralOwner
            assert owner

            kafka.kill()
            killed = time.monotonic()
            while client.exists("/real-kafka/brokers/ids/7"):
                assert time.monotonic() < killed + SESSION_MS / 1000 + 5
                time.sleep(0.1)
            assert time.monotonic() > killed + SESSION_MS / 2000, (
                "it went before its session could have ended"
            )

            kafka.start()
            produced(kafka, "topic-0", [b"three"])
            assert read(kafka, "topic-0", 3) == [b"one", b"two", b"three"]
            assert client.get("/real-kafka/brokers/ids/7")[1].ephemeralOwner != owner

            broker.kill()  # the ensemble is gone for a moment, and Kafka's session outlives that
            broker.start()
            client.get("/real-kafka/controller")
            with RawClient(("127.0.0.1", kafka.port)) as raw:
                assert create_topic(raw, "later") == 0
            assert read(kafka, "topic-0", 3) == [b"one", b"two", b"three"]
    finally:
        client.stop()
        client.close()
