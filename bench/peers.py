"""The brokers that are measured beside each other, each in a process of its own."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaException, TopicPartition

from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.delete_topics import DeleteTopicsRequest
from real_kafka import RealKafka
from support.broker_process import BrokerProcess
from support.kcompat_broker import KcompatBroker
from support.raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PROPERTIES = {
    # Remove the files of deleted topics soon, so that a long run neither fills the disk nor the page cache.
    "log.segment.delete.delay.ms": "1000",
    "auto.create.topics.enable": "false",
}
HEAP = "1g"  # what Kafka's own start script gives a broker
CREATE_VERSION, DELETE_VERSION = 5, 5
TIMEOUT_MS = 30_000


class KcompatWithoutEndedFetches(KcompatBroker):
    """Our broker, but a waiting fetch is not ended by the next request: to see what ending it is worth."""

    name = "kcompat-waiting"

    def command(self) -> list[str]:
        """Return the command of a broker, run by the module that takes the feature out."""
        python, _, _, *arguments = super().command()
        return [python, str(Path(__file__).with_name("without_ended_fetches.py")), *arguments]


class KcompatWithoutExtension(KcompatBroker):
    """Our broker with the pure-Python implementations of its native code."""

    name = "kcompat-python"

    def command(self) -> list[str]:
        """Return the command of a broker, with the extensions switched off."""
        return ["env", "KCOMPAT_NATIVE=0", *super().command()]


class MockCluster(BrokerProcess):
    """librdkafka's mock cluster; `start` learns its port from the process."""

    name = "mock"

    def command(self) -> list[str]:
        """The process that holds the cluster."""
        return [sys.executable, str(Path(__file__).with_name("mock_broker.py"))]

    def start(self, timeout_s: float = 60) -> None:  # noqa: ARG002 - as its base declares it
        """Start the process and wait for its port."""
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                self.command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
            )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())


def kcompat(properties: Mapping[str, str] = PROPERTIES) -> BrokerProcess:
    """Our broker, not started yet."""
    return KcompatBroker(properties)


def kcompat_before(checkout: Path) -> type[KcompatBroker]:
    """Our broker as another checkout has it. A class, as measures make more brokers of the same kind."""

    class KcompatBefore(KcompatBroker):
        name = "kcompat-before"

        def command(self) -> list[str]:
            """Return the command of a broker, with the package of that checkout on the path of Python."""
            return ["env", "PYTHONSAFEPATH=1", f"PYTHONPATH={checkout}", *super().command()]

    return KcompatBefore


def kafka(properties: Mapping[str, str] = PROPERTIES) -> BrokerProcess:
    """A real Kafka 3.9.2, not started yet."""
    return RealKafka("3.9.2", properties, heap=HEAP, options=())


def like(broker: BrokerProcess, properties: Mapping[str, str], listeners: Mapping[str, str]) -> BrokerProcess:
    """A broker of the same kind with other properties and further listeners, not started yet."""
    if is_kcompat(broker):
        return type(broker)(properties, listeners=listeners)
    return RealKafka("3.9.2", properties, heap=HEAP, options=(), listeners=listeners)


def is_mock(broker: BrokerProcess) -> bool:
    """Whether this is the mock cluster, which has no admin requests and keeps only some MB a partition."""
    return isinstance(broker, MockCluster)


def is_kcompat(broker: BrokerProcess) -> bool:
    """Whether this is our broker."""
    return isinstance(broker, KcompatBroker)


def client(broker: BrokerProcess) -> RawClient:
    """A raw connection to a broker."""
    return RawClient(("127.0.0.1", broker.port), timeout_s=TIMEOUT_MS / 1000)


def create_topics(
    broker: BrokerProcess,
    names: Sequence[str],
    partitions: int,
    configs: Mapping[str, str] = {},
    replication_factor: int = 1,
) -> None:
    """Create topics with one request and wait until they are known; the mock makes topics when asked for."""
    if is_mock(broker):
        with contextlib.closing(
            Consumer(
                {"bootstrap.servers": broker.bootstrap, "group.id": "bench", "allow.auto.create.topics": True}
            )
        ) as consumer:
            for name in names:
                consumer.list_topics(name, timeout=10)
        return
    rows = [CreateTopicsRequest.CreatableTopicConfig(key, value) for key, value in configs.items()]
    topics = [
        CreateTopicsRequest.CreatableTopic(
            name=name, num_partitions=partitions, replication_factor=replication_factor, configs=rows
        )
        for name in names
    ]
    with client(broker) as connection:
        answer = connection.call(CreateTopicsRequest(topics=topics, timeout_ms=TIMEOUT_MS), CREATE_VERSION)
    for topic in answer.topics:
        if topic.error_code:
            raise RuntimeError(f"{broker.name} answered error {topic.error_code} to creating {topic.name}")


def delete_topics(broker: BrokerProcess, names: Sequence[str]) -> None:
    """Delete topics; the mock keeps them."""
    if is_mock(broker):
        return
    with client(broker) as connection:
        connection.call(DeleteTopicsRequest(topic_names=list(names), timeout_ms=TIMEOUT_MS), DELETE_VERSION)


def await_leaders(broker: BrokerProcess, topic: str, partitions: int) -> None:
    """Wait until all partitions of a new topic take records: Kafka answers its creation a little earlier."""
    deadline = time.monotonic() + TIMEOUT_MS / 1000
    while True:
        try:
            records_in(broker.bootstrap, topic, partitions)
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


def records_in(bootstrap: str, topic: str, partitions: int) -> int:
    """How many records the partitions of a topic have taken in all."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "bench"}
    with contextlib.closing(Consumer(settings)) as consumer:
        return sum(
            consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=10)[1]
            for partition in range(partitions)
        )
