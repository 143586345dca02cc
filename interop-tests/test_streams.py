"""Kafka Streams 3.9: an application that counts words through a repartition topic and a changelog.

Our program in `java/streams` runs once, then twice (a cooperative rebalance moves its tasks), then once again
with no state of its own but what it reads back from the changelog. Nobody is killed, so every count is exact.
With `exactly_once_v2` it is killed, and so is its broker, and every count is exact all the same.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from commands import QUICK_JVM, Running, run
from contract import create_topic, eventually
from drivers.base import Record
from drivers.confluent import Confluent
from support.kafka_jars import class_path
from support.places import CACHE, REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from drivers.base import Driver
    from support.broker_process import BrokerProcess

LIBS = CACHE / "kafka-streams" / "libs"
PARTITIONS = 3
PATIENCE_S = 120
ONE_PARTITION_OF_EACH = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
WORDS = [f"word{n}" for n in range(100)]


class WordCount:
    """Instances of the application, and what their counts must be."""

    def __init__(self, broker: BrokerProcess, driver: Driver, name: str, home: Path) -> None:
        self.driver = driver
        self.name = name
        self.home = home
        self.expected: Counter[str] = Counter()
        self._bootstrap = broker.bootstrap
        self._random = random.Random(1)
        self._path = f"{home / 'classes'}:{LIBS}/*:{class_path('3.9.2')}"
        source = REPOSITORY / "interop-tests" / "java" / "streams" / "WordCount.java"
        run(["javac", "-nowarn", "-cp", self._path, "-d", home / "classes", source])
        for topic in ("lines", "counts"):
            create_topic(driver, f"{name}-{topic}", PARTITIONS)
        self._reader = driver.join(f"{name}-reader", f"{name}-counts")

    def instance(self, state: str, *settings: str) -> Running:
        """Start an instance with a state directory of this name."""
        words = ["WordCount", self._bootstrap, self.name, self.home / state, *settings]
        return Running([*QUICK_JVM, "-cp", self._path, *words])

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


@pytest.fixture
def word_count(broker: BrokerProcess, name: str, tmp_path: Path) -> Iterator[WordCount]:
    if shutil.which("javac") is None or not LIBS.is_dir():
        pytest.skip("install a Java 17 JDK and run python interop-tests/fetch.py jars")
    driver = Confluent(broker.bootstrap)
    yield WordCount(broker, driver, name, tmp_path)
    driver.close()


def restored(instance: Running) -> int:
    """How many records of changelogs an instance has read back."""
    return sum(int(line.split()[1]) for line in instance.lines() if line.startswith("restored "))


def test_words_are_counted_across_rebalances_and_restored_from_the_changelog(word_count: WordCount) -> None:
    word_count.feed(1000)
    with word_count.instance("first") as first:
        word_count.has_counted()
        assert word_count.config("counts-changelog", "cleanup.policy") == "compact"
        assert word_count.config("words-repartition", "cleanup.policy") == "delete"
        assert word_count.config("words-repartition", "retention.ms") == "-1"
        with word_count.instance("second") as second:
            eventually(lambda: "state RUNNING" in second.lines(), "the second instance runs")
            eventually(lambda: restored(second) > 0, "a task with its state has moved")
            word_count.feed(1000)
            word_count.has_counted()
            first.end()
            word_count.feed(500)
            word_count.has_counted()
    word_count.feed(500)
    with word_count.instance("third") as third:
        word_count.has_counted()
        assert restored(third) >= len(WORDS)


def test_with_exactly_once_no_word_counts_twice_whoever_is_killed(
    new_broker: Callable[..., BrokerProcess], name: str, tmp_path: Path
) -> None:
    settings = ["processing.guarantee=exactly_once_v2", "consumer.session.timeout.ms=6000"]
    with new_broker(ONE_PARTITION_OF_EACH) as broker, closing(Confluent(broker.bootstrap)) as driver:
        word_count = WordCount(broker, driver, name, tmp_path)
        word_count.feed(200)
        with word_count.instance("first", *settings) as first:
            word_count.counts_on()
            first.kill()
            with word_count.instance("second", *settings):
                word_count.counts_on()
                broker.kill()
                broker.start()
                word_count.counts_on()
                with word_count.instance("first", *settings):
                    word_count.feed(200)
                    word_count.has_counted(PATIENCE_S)
