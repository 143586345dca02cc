"""A Kafka Streams application that counts words through a repartition topic and a changelog.

The program is in `java/streams`.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

from commands import Running, compile_java
from contract import create_topic
from drivers.base import Record
from support.eventually import eventually
from support.kafka_jars import class_path, jvm
from support.places import CACHE, REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

    from drivers.base import Driver
    from support.broker_process import BrokerProcess

PARTITIONS = 3
PATIENCE_S = 120
WORDS = [f"word{n}" for n in range(100)]


class WordCount:
    """Instances of the application, and what their counts must be."""

    def __init__(
        self, broker: BrokerProcess, driver: Driver, name: str, home: Path, version: str = "3.9.2"
    ) -> None:
        self.driver = driver
        self.name = name
        self.home = home
        self.expected: Counter[str] = Counter()
        self._bootstrap = broker.bootstrap
        self._random = random.Random(1)
        self._jvm = jvm(version, libs(version) / "*", home / "classes")
        source = REPOSITORY / "interop-tests" / "java" / "streams" / "WordCount.java"
        compile_java(f"{class_path(version)}:{libs(version)}/*", home / "classes", source)
        for topic in ("lines", "counts"):
            create_topic(driver, f"{name}-{topic}", PARTITIONS)
        self._reader = driver.join(f"{name}-reader", f"{name}-counts")

    def instance(self, state: str, *settings: str) -> Running:
        """Start an instance with a state directory of this name."""
        words = ["WordCount", self._bootstrap, self.name, self.home / state, *settings]
        return Running([*self._jvm, *words])

    def feed(self, lines: int) -> None:
        """Produce lines of five words."""
        records = []
        for number in range(lines):
            words = self._random.choices(WORDS, k=5)
            self.expected.update(words)
            records.append(Record(" ".join(words).encode(), None, (), number % PARTITIONS))
        self.driver.produce(f"{self.name}-lines", records)

    def counts(self) -> dict[str, int]:
        """The newest count of each word."""
        received = self.driver.received(self._reader)
        return {r.key.decode(): int(r.value) for r in received if r.key is not None and r.value is not None}

    def has_counted(self, patience_s: float = 30) -> None:
        """Wait until the counts are as expected."""
        eventually(lambda: self.counts() == self.expected, "every word is counted", patience_s)

    def counts_on(self) -> None:
        """Feed lines until more of them are counted than were before."""
        before = sum(self.counts().values())

        def has_more() -> bool:
            self.feed(50)
            return sum(self.counts().values()) > before

        eventually(has_more, "words are counted", PATIENCE_S)

    def config(self, topic: str, key: str) -> str:
        """A setting of one of the topics that the application has created."""
        return self.driver.topic_config(f"{self.name}-{topic}", key)


def libs(version: str) -> Path:
    """Where the jars of a Kafka Streams are."""
    return CACHE / f"kafka-streams-{version}" / "libs"


def restored(instance: Running) -> int:
    """How many records of changelogs an instance has read back."""
    return sum(int(line.split()[1]) for line in instance.lines() if line.startswith("restored "))
