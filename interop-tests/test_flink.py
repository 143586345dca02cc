"""Flink 2.0: a job that copies a topic with the exactly-once sink of Flink's Kafka connector.

Its sink takes up transactions that a former process of the job has left: those that belong to a whole
checkpoint it commits, though they are another producer's, and the others it aborts. Tasks fail, the job is
killed, and so is the broker; under read_committed each record is there once.
"""

from __future__ import annotations

import shutil
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from commands import QUICK_JVM, Running, compile_java
from contract import create_topic
from drivers.base import Record
from drivers.confluent import Confluent
from support.eventually import eventually
from support.places import CACHE, REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.broker_process import BrokerProcess

SOURCE = REPOSITORY / "interop-tests" / "java" / "flink" / "Copy.java"
LIBS = CACHE / "flink" / "libs"
PARTITIONS = 2
PATIENCE_S = 120
FAIL_AT = 150
ONE_PARTITION_OF_EACH = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}


class Copying:
    """The job, what it has to copy, and what readers of committed records see of it."""

    def __init__(self, broker: BrokerProcess, driver: Confluent, name: str, home: Path) -> None:
        self._driver = driver
        self._home = home
        self._source, self._target = f"{name}-source", f"{name}-target"
        self._path = f"{home / 'classes'}:{LIBS}/*"
        self._job = [broker.bootstrap, self._source, self._target, home / "checkpoints", FAIL_AT]
        self._fed = 0
        (home / "checkpoints").mkdir()
        compile_java(self._path, home / "classes", SOURCE)
        for topic in (self._source, self._target):
            create_topic(driver, topic, PARTITIONS)
        self._reader = driver.join(f"{name}-reader", self._target)

    def begin(self) -> Running:
        """Run the job; it goes on from the newest checkpoint."""
        return Running([*QUICK_JVM, "-cp", self._path, "Copy", *map(str, self._job)])

    def feed(self, records: int) -> None:
        """Produce so many different values."""
        numbers = range(self._fed, self._fed + records)
        self._driver.produce(
            self._source, [Record(b"%d" % number, None, (), number % PARTITIONS) for number in numbers]
        )
        self._fed += records

    def copies(self) -> list[int]:
        """The values that are committed in the target."""
        return [int(record.value or b"-1") for record in self._driver.received(self._reader)]

    def copies_on(self) -> None:
        """Feed until more is committed than was before."""
        before = len(self.copies())

        def has_more() -> bool:
            self.feed(20)
            return len(self.copies()) > before

        eventually(has_more, "records are copied", PATIENCE_S)

    def has_copied_all_once(self) -> None:
        """Wait until as much is committed as was fed; it has to be the same."""
        eventually(lambda: len(self.copies()) >= self._fed, "all is copied", PATIENCE_S)
        assert sorted(self.copies()) == list(range(self._fed))


@pytest.mark.thorough("test_transactional_clients.py and test_connect.py kill copiers in transactions")
def test_each_record_is_copied_once_whoever_fails(
    new_broker: Callable[..., BrokerProcess], name: str, tmp_path: Path
) -> None:
    if shutil.which("javac") is None or not LIBS.is_dir():
        pytest.skip("install a Java 17 JDK and run python interop-tests/fetch.py flink")
    with new_broker(ONE_PARTITION_OF_EACH) as broker, closing(Confluent(broker.bootstrap)) as driver:
        copying = Copying(broker, driver, name, tmp_path)
        with copying.begin() as first:
            copying.copies_on()
            copying.feed(2 * FAIL_AT)
            eventually(lambda: "failed" in first.lines(), "a task fails", PATIENCE_S)
            copying.copies_on()
            first.kill()
            with copying.begin():
                copying.copies_on()
                broker.kill()
                broker.start()
                copying.copies_on()
                copying.has_copied_all_once()
