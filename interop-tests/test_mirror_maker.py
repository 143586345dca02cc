"""MirrorMaker 2 of Kafka 3.9 as a program of its own, between kcompat and a real Kafka, both ways at once.

Topics, their settings and where groups have got to are copied; a group that moves to the other cluster goes
on there. Each record arrives at least once: that is what MirrorMaker promises without more.
"""

from __future__ import annotations

import shutil
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from commands import Running
from drivers.base import DriverError
from drivers.confluent import Confluent
from kcompat.security.client_settings import SETTINGS, ClientAccess, ClientLogin
from kcompat.security.login_lines import login_line
from real_kafka import RealKafka, properties_text
from support.eventually import eventually
from support.kafka_jars import jvm
from support.kcompat_broker import KcompatBroker
from support.places import CACHE
from support.tls_authority import PASSWORD, Authority, as_pem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.broker_process import BrokerProcess

LIBS = CACHE / "kafka-connect" / "libs"
PATIENCE_S = 120
STEP = 100
PARTITIONS = 2
RETENTION_MS = "777000"
ONE_OF_EACH = {"offsets.topic.num.partitions": "1"}
SECURED = "SASL_SSL"


class Pair(NamedTuple):
    """A cluster of each kind, and the client settings with which MirrorMaker comes to each."""

    ours: BrokerProcess
    kafka: BrokerProcess
    ours_access: ClientAccess
    kafka_access: ClientAccess


class Flow(NamedTuple):
    """One way between the two: a topic of the source, and the group that reads it."""

    source: BrokerProcess
    target: BrokerProcess
    alias: str
    topic: str

    @property
    def mirror(self) -> str:
        """Name of the topic in the target cluster."""
        return f"{self.alias}.{self.topic}"


class MirrorMaker:
    """MirrorMaker in a process of its own."""

    def __init__(self, pair: Pair, home: Path) -> None:
        self._properties = home / "mm2.properties"
        settings = {
            "clusters": "ours, kafka",
            **{f"ours.{key}": value for key, value in SETTINGS["java"](pair.ours_access).items()},
            **{f"kafka.{key}": value for key, value in SETTINGS["java"](pair.kafka_access).items()},
            "ours->kafka.enabled": "true",
            "kafka->ours.enabled": "true",
            "topics": "orders, payments",
            "groups": "readers",
            "tasks.max": "1",
            "replication.factor": "1",
            "offset.lag.max": "0",
            "emit.checkpoints.interval.seconds": "1",
            "emit.heartbeats.interval.seconds": "1",
            "sync.group.offsets.enabled": "true",
            "sync.group.offsets.interval.seconds": "1",
            "sync.topic.acls.enabled": "false",
            "sync.topic.configs.interval.seconds": "1",
            "refresh.topics.interval.seconds": "1",
            "refresh.groups.interval.seconds": "1",
            "offset.flush.interval.ms": "100",
            "scheduled.rebalance.max.delay.ms": "0",
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "500",
        }
        for topic in ("heartbeats", "checkpoints", "offset-syncs"):
            settings[f"{topic}.topic.replication.factor"] = "1"
        for topic in ("offset", "status", "config"):
            settings[f"{topic}.storage.replication.factor"] = "1"
        self._properties.write_text(properties_text(settings))
        self._running = self._started()

    def _started(self) -> Running:
        main = "org.apache.kafka.connect.mirror.MirrorMaker"
        return Running([*jvm("3.9.2", LIBS / "*"), main, self._properties])

    def kill(self) -> None:
        """End it without a word, and start it again."""
        self.close()
        self._running = self._started()

    def close(self) -> None:
        """End it without a word."""
        with self._running:
            self._running.kill()


@pytest.fixture(params=["PLAINTEXT", "SASL_SSL"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    if shutil.which("java") is None or not LIBS.is_dir():
        pytest.skip("install a Java 17 runtime and run python interop-tests/fetch.py jars")
    if request.param == "PLAINTEXT":
        with KcompatBroker(ONE_OF_EACH) as ours, RealKafka(properties=ONE_OF_EACH) as kafka:
            yield Pair(ours, kafka, *(ClientAccess(each.bootstrap, "PLAINTEXT") for each in (ours, kafka)))
        return
    authority, key_store, listeners = Authority(), tmp_path / "broker.pem", {SECURED: SECURED}
    key_store.write_bytes(as_pem(authority.broker))
    ca, login = authority.trust_in(tmp_path), ClientLogin("PLAIN", "mirror", PASSWORD)
    settings = {
        **ONE_OF_EACH,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(key_store),
        "sasl.enabled.mechanisms": login.mechanism,
        "listener.name.sasl_ssl.plain.sasl.jaas.config": login_line(
            login.mechanism, {f"user_{login.user}": login.password}
        ),
    }
    with (
        KcompatBroker(settings, listeners=listeners) as ours,
        RealKafka(properties=settings, listeners=listeners) as kafka,
    ):
        accesses = (
            ClientAccess(each.bootstrap_of(SECURED), SECURED, str(ca), login=login) for each in (ours, kafka)
        )
        yield Pair(ours, kafka, *accesses)


def write(flow: Flow, first: int) -> None:
    """The next numbers into each partition of the source."""
    producer = Producer({"bootstrap.servers": flow.source.bootstrap, "enable.idempotence": True})
    for number in range(first, first + STEP):
        for partition in range(PARTITIONS):
            producer.produce(flow.topic, str(number), partition=partition)
    assert producer.flush(60) == 0


def read(broker: BrokerProcess, topic: str) -> list[list[int]]:
    """Return the values in each partition of a topic."""
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": "looker", "enable.partition.eof": True}
    found: list[list[int]] = []
    for partition in range(PARTITIONS):
        with closing(Consumer(settings)) as consumer:
            consumer.assign([TopicPartition(topic, partition, 0)])
            found.append([])
            while (message := consumer.poll(60)) is not None and message.error() is None:
                found[-1].append(int(message.value()))
    return found


def committed(broker: BrokerProcess, topic: str) -> list[int]:
    """Where the group has got to in each partition; negative where it has not begun."""
    with closing(Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "readers"})) as consumer:
        places = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
        return [place.offset for place in consumer.committed(places, 30)]


def commit(broker: BrokerProcess, topic: str, offset: int) -> None:
    """Say that the group has read so far in each partition."""
    with closing(Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "readers"})) as consumer:
        places = [TopicPartition(topic, partition, offset) for partition in range(PARTITIONS)]
        consumer.commit(offsets=places, asynchronous=False)


def left_for_group(flow: Flow) -> list[set[int]]:
    """Return the values in each partition of the mirror that the group has not yet read. A killed
    MirrorMaker copies again, and may then bring the group into the later copy, short of where it was in the
    first.
    """
    places = committed(flow.target, flow.mirror)
    return [set(each[place:]) for each, place in zip(read(flow.target, flow.mirror), places, strict=True)]


def setting(driver: Confluent, topic: str) -> str:
    """How long a topic keeps its records; nothing as long as there is no such topic."""
    try:
        return driver.topic_config(topic, "retention.ms")
    except DriverError:
        return ""


@pytest.mark.thorough("test_connect.py has workers of Kafka Connect")
@pytest.mark.timeout(5 * PATIENCE_S)
def test_topics_and_groups_move_both_ways(pair: Pair, tmp_path: Path) -> None:
    flows = [
        Flow(pair.ours, pair.kafka, "ours", "orders"),
        Flow(pair.kafka, pair.ours, "kafka", "payments"),
    ]
    for flow in flows:
        with closing(Confluent(flow.source.bootstrap)) as driver:
            driver.create_topic(flow.topic, PARTITIONS, {"retention.ms": RETENTION_MS})
    with closing(MirrorMaker(pair, tmp_path)) as mirror_maker:
        for flow in flows:
            write(flow, 0)
            commit(flow.source, flow.topic, STEP)
        for flow in flows:
            with closing(Confluent(flow.target.bootstrap)) as driver:
                eventually(
                    lambda d=driver, f=flow: setting(d, f.mirror) == RETENTION_MS,
                    "the topic is there",
                    PATIENCE_S,
                )
                eventually(
                    lambda f=flow: committed(f.target, f.mirror) == [STEP] * PARTITIONS,
                    f"the group is as far in {flow.mirror}",
                    PATIENCE_S,
                )
                assert read(flow.target, flow.mirror) == [list(range(STEP))] * PARTITIONS
                own = {"heartbeats", f"{flow.alias}.checkpoints.internal"}
                eventually(
                    lambda d=driver, o=own: o <= set(d.topics()), "its own topics are there", PATIENCE_S
                )
        for flow in flows:
            write(flow, STEP)
        mirror_maker.kill()
        for flow in flows:
            write(flow, 2 * STEP)
        for flow in flows:
            whole = list(range(3 * STEP))
            eventually(
                lambda f=flow, w=whole: (
                    [list(dict.fromkeys(each)) for each in read(f.target, f.mirror)] == [w] * PARTITIONS
                ),
                f"all is in {flow.mirror}",
                PATIENCE_S,
            )
            assert min(committed(flow.target, flow.mirror)) >= STEP
            assert all(left >= set(range(STEP, 3 * STEP)) for left in left_for_group(flow))
