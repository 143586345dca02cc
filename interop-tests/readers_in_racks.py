"""Consumers that are in a rack, and say which broker sent them how much."""

from __future__ import annotations

import json
import re
import threading
from abc import ABC, abstractmethod
from collections import Counter
from typing import TYPE_CHECKING, Any, Self

import confluent_kafka

from commands import Running
from support.kafka_jars import CONF, jvm

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

ASKED = re.compile(r"Added \w+ fetch request for partition .* to node \S+ \(id: (\d+) rack: ")
RECEIVED = re.compile(r"Preparing to read (\d+) bytes of data for partition ")
LOGGED = """
log4j.logger.org.apache.kafka.clients.consumer.internals.AbstractFetch=DEBUG
log4j.logger.org.apache.kafka.clients.consumer.internals.FetchCollector=TRACE
"""
FROZEN_AFTER_MS = 1500
"""How long a consumer waits for an answer: longer than a broker waits for records."""


class Reader(ABC):
    """Reads a topic of one partition from its beginning; `with` ends it."""

    @abstractmethod
    def values(self) -> list[str]:
        """All values so far."""

    @abstractmethod
    def received(self) -> Counter[int]:
        """How many bytes of records, or of everything, have come from each broker so far."""

    @abstractmethod
    def close(self) -> None:
        """Close the reader's connection to the group."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class JavaReader(Reader):
    """Kafka's console consumer, which logs what it fetches. It has one fetch of a partition on the way, so
    what it receives comes from where it asked last.
    """

    def __init__(self, bootstrap: str, topic: str, rack: str, directory: Path) -> None:
        config = directory / "log4j.properties"
        config.write_text((CONF / "log4j.properties").read_text() + LOGGED)
        settings = {
            "client.rack": rack,
            "metadata.max.age.ms": 1000,
            "request.timeout.ms": FROZEN_AFTER_MS,
        }
        command = [*jvm("3.9.2"), f"-Dlog4j.configuration=file:{config}"]
        command += ["org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", bootstrap]
        command += ["--topic", topic, "--partition", "0", "--offset", "earliest"]
        for key, value in settings.items():
            command += ["--consumer-property", f"{key}={value}"]
        self._running = Running(command)

    def values(self) -> list[str]:
        return [line for line in self._running.lines() if line[:1].isdigit()]

    def received(self) -> Counter[int]:
        total: Counter[int] = Counter()
        asked = -1
        for line in self._running.lines():
            if found := ASKED.search(line):
                asked = int(found[1])
            elif found := RECEIVED.search(line):
                total[asked] += int(found[1])
        return total

    def close(self) -> None:
        with self._running:
            self._running.kill()


class LibrdkafkaReader(Reader):
    """confluent-kafka, which counts for its statistics what each broker has sent."""

    def __init__(self, bootstrap: str, topic: str, rack: str, directory: Path) -> None:
        del directory
        self._values: list[str] = []
        self._received: Counter[int] = Counter()
        self._is_over = threading.Event()
        self._consumer: Any = confluent_kafka.Consumer(
            {
                "bootstrap.servers": bootstrap,
                "client.rack": rack,
                "group.id": topic,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "socket.timeout.ms": FROZEN_AFTER_MS,
                "statistics.interval.ms": 100,
                "stats_cb": self._count,
                "error_cb": lambda error: None,
            }
        )
        self._consumer.assign([confluent_kafka.TopicPartition(topic, 0, confluent_kafka.OFFSET_BEGINNING)])
        self._thread = threading.Thread(target=self._read, name="reader")
        self._thread.start()

    def _count(self, text: str) -> None:
        brokers = json.loads(text)["brokers"].values()
        self._received = Counter({row["nodeid"]: row["rxbytes"] for row in brokers if row["nodeid"] >= 0})

    def _read(self) -> None:
        while not self._is_over.is_set():
            message = self._consumer.poll(0.1)
            if message is not None and message.error() is None:
                self._values.append(message.value().decode())

    def values(self) -> list[str]:
        return list(self._values)

    def received(self) -> Counter[int]:
        return self._received

    def close(self) -> None:
        self._is_over.set()
        self._thread.join()
        self._consumer.close()
