"""Kafka Connect 3.9 standalone: a file is read into a topic, and the topic is written to another file.

A standalone worker keeps its source's offsets in a file and promises each record at least once: whoever is
killed, none is missing, and what comes again comes in its order.
"""

from __future__ import annotations

import shutil
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from commands import Running
from contract import create_topic
from drivers.confluent import Confluent
from support.eventually import eventually
from support.kafka_jars import jvm
from support.kcompat_broker import KcompatBroker
from support.places import CACHE
from support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

LIBS = CACHE / "kafka-connect" / "libs"
TEXT = "org.apache.kafka.connect.storage.StringConverter"
FILES = "org.apache.kafka.connect.file.FileStream"
PATIENCE_S = 120
STEP = 300
DIGITS = 6


class Worker:
    """A standalone worker with a source and a sink."""

    def __init__(self, bootstrap: str, home: Path) -> None:
        self.source, self.sink = home / "source", home / "sink"
        worker = {
            "bootstrap.servers": bootstrap,
            "listeners": f"http://127.0.0.1:{free_port()}",
            "offset.storage.file.filename": str(home / "offsets"),
            "offset.flush.interval.ms": "100",
            "plugin.discovery": "service_load",
            "plugin.path": str(LIBS),
            "key.converter": TEXT,
            "value.converter": TEXT,
            "consumer.session.timeout.ms": "6000",
            "consumer.heartbeat.interval.ms": "500",
        }
        source = {"connector.class": f"{FILES}SourceConnector", "file": str(self.source), "topic": "lines"}
        sink = {"connector.class": f"{FILES}SinkConnector", "file": str(self.sink), "topics": "lines"}
        self._files = [
            _properties(home / "worker.properties", worker),
            _properties(home / "source.properties", {"name": "reader", "tasks.max": "1", **source}),
            _properties(home / "sink.properties", {"name": "writer", "tasks.max": "1", **sink}),
        ]
        self._running = self._started()

    def _started(self) -> Running:
        return Running(
            [*jvm("3.9.2", LIBS / "*"), "org.apache.kafka.connect.cli.ConnectStandalone", *self._files]
        )

    def kill(self) -> None:
        """End it without a word, and start it again."""
        self.close()
        self._running = self._started()

    def close(self) -> None:
        """End it without a word."""
        with self._running:
            self._running.kill()

    @property
    def written(self) -> list[int]:
        """The numbers that the sink has written. Who is killed may leave one without the end of its line."""
        text = self.sink.read_text().replace("\n", "") if self.sink.exists() else ""
        return [int(text[at : at + DIGITS]) for at in range(0, len(text) - DIGITS + 1, DIGITS)]


def _properties(file: Path, settings: Mapping[str, str]) -> Path:
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return file


@pytest.fixture
def broker() -> Iterator[KcompatBroker]:
    if shutil.which("java") is None or not LIBS.is_dir():
        pytest.skip("install a Java 17 runtime and run python interop-tests/fetch.py jars")
    with KcompatBroker({"offsets.topic.num.partitions": "1"}) as broker:
        yield broker


@pytest.mark.thorough("test_connect.py has distributed workers")
@pytest.mark.timeout(5 * PATIENCE_S)
def test_each_line_arrives_whoever_is_killed(broker: KcompatBroker, tmp_path: Path) -> None:
    with closing(Confluent(broker.bootstrap)) as driver:
        create_topic(driver, "lines", 1)
    count = 0

    def write() -> None:
        nonlocal count
        with worker.source.open("a") as file:
            file.writelines(f"{number:0{DIGITS}}\n" for number in range(count, count + STEP))
        count += STEP

    def all_is_there() -> bool:
        return set(worker.written) == set(range(count))

    with closing(Worker(broker.bootstrap, tmp_path)) as worker:
        write()
        eventually(all_is_there, "all is copied", PATIENCE_S)
        for accident in (worker.kill, broker.kill):
            write()
            accident()
            if not broker.is_running():
                broker.start()
            write()
            eventually(all_is_there, "all is copied", PATIENCE_S)
        assert list(dict.fromkeys(worker.written)) == list(range(count))
