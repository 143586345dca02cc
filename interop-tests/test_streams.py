"""Kafka Streams 3.9: an application that counts words through a repartition topic and a changelog.

Our program in `java/streams` runs once, then twice (a cooperative rebalance moves its tasks), then once again
with no state of its own but what it reads back from the changelog. Nobody is killed, so every count is exact.
With `exactly_once_v2` it is killed, and so is its broker, and every count is exact all the same.
"""

from __future__ import annotations

import shutil
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from drivers.confluent import Confluent
from support.eventually import eventually
from word_count import PATIENCE_S, WORDS, WordCount, libs, restored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.broker_process import BrokerProcess

ONE_PARTITION_OF_EACH = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}


@pytest.fixture
def word_count(broker: BrokerProcess, name: str, tmp_path: Path) -> Iterator[WordCount]:
    if shutil.which("javac") is None or not libs("3.9.2").is_dir():
        pytest.skip("install a Java 17 JDK and run python interop-tests/fetch.py jars")
    driver = Confluent(broker.bootstrap)
    yield WordCount(broker, driver, name, tmp_path)
    driver.close()


@pytest.mark.thorough("the other test also counts on after kills")
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
