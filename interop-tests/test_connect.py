"""Kafka Connect 3.9, distributed, with exactly-once sources: a file is read, MirrorMaker 2 copies a topic.

The worker is killed, and so is its broker; what was written is there once and in order.
"""

from __future__ import annotations

import json
import shutil
import urllib.request
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from commands import Running
from contract import create_topic
from drivers.confluent import Confluent
from support.eventually import eventually
from support.kafka_jars import jvm
from support.kcompat_broker import KcompatBroker
from support.places import CACHE
from support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LIBS = CACHE / "kafka-connect" / "libs"
PATIENCE_S = 120
STEP = 300
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
TEXT = "org.apache.kafka.connect.storage.StringConverter"
FILE, MIRROR = "lines", "a.numbers"
"""The topics that the connectors write; MirrorMaker puts the name of the source before that of a topic."""


class Worker:
    """A worker of Connect, alone in its group."""

    def __init__(self, bootstrap: str, home: Path) -> None:
        self._port = free_port()
        self._properties = home / "worker.properties"
        settings = {
            "bootstrap.servers": bootstrap,
            "group.id": "connect",
            "listeners": f"http://127.0.0.1:{self._port}",
            "exactly.once.source.support": "enabled",
            "offset.flush.interval.ms": "100",
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "500",
            "scheduled.rebalance.max.delay.ms": "0",
            "plugin.discovery": "service_load",
            "plugin.path": str(LIBS),
            "key.converter": TEXT,
            "value.converter": TEXT,
            "offset.storage.partitions": "1",
            "status.storage.partitions": "1",
        }
        for topic in ("offset", "status", "config"):
            settings[f"{topic}.storage.topic"] = f"connect-{topic}"
            settings[f"{topic}.storage.replication.factor"] = "1"
        self._properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        self._running = self._started()

    def _started(self) -> Running:
        main = "org.apache.kafka.connect.cli.ConnectDistributed"
        return Running([*jvm("3.9.2", LIBS / "*"), main, self._properties])

    def ask(self, method: str, path: str, body: dict[str, str] | None = None) -> Any:
        """A request to its REST interface; None when it does not answer or refuses, as it does at first."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        url = f"http://127.0.0.1:{self._port}{path}"
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return json.load(answer)
        except OSError:
            return None

    def begin(self, name: str, settings: dict[str, str]) -> None:
        """Create a connector with one task, and wait until that runs."""
        path = f"/connectors/{name}"
        body = {"tasks.max": "1", "exactly.once.support": "required", **settings}
        eventually(lambda: self.ask("PUT", f"{path}/config", body) is not None, f"{name} is made", PATIENCE_S)
        eventually(lambda: self._runs(path), f"{name} runs", PATIENCE_S)

    def _runs(self, path: str) -> bool:
        said = self.ask("GET", f"{path}/status") or {"tasks": []}
        return [task["state"] for task in said["tasks"]] == ["RUNNING"]

    def kill(self) -> None:
        """End it without a word, and start it again."""
        self.close()
        self._running = self._started()

    def close(self) -> None:
        """End it without a word."""
        with self._running:
            self._running.kill()


def read(bootstrap: str, topic: str) -> list[int]:
    """Return the values that a reader of committed records finds now."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "reader", "enable.partition.eof": True}
    with closing(Consumer({**settings, "isolation.level": "read_committed"})) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        found = []
        while (message := consumer.poll(60)) is not None and message.error() is None:
            found.append(int(message.value()))
    return found


class Writer:
    """Writes the same numbers into the file and into the topic."""

    def __init__(self, bootstrap: str, file: Path) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
        self._file = file
        self.count = 0

    def write(self) -> None:
        """Some more of them."""
        numbers = range(self.count, self.count + STEP)
        with self._file.open("a") as file:
            file.writelines(f"{number}\n" for number in numbers)
        for number in numbers:
            self._producer.produce("numbers", str(number), partition=0)
        assert self._producer.flush(60) == 0
        self.count += STEP


@pytest.fixture
def broker() -> Iterator[KcompatBroker]:
    if shutil.which("java") is None or not LIBS.is_dir():
        pytest.skip("install a Java 17 runtime and run python interop-tests/fetch.py jars")
    one_of_each = ("offsets.topic.num.partitions", "transaction.state.log.num.partitions")
    with KcompatBroker(dict.fromkeys(one_of_each, "1")) as broker:
        yield broker


@pytest.mark.timeout(5 * PATIENCE_S)
def test_sources_write_each_record_once_whoever_is_killed(broker: KcompatBroker, tmp_path: Path) -> None:
    bootstrap = broker.bootstrap
    with closing(Confluent(bootstrap)) as driver:
        for topic in ("numbers", FILE):
            create_topic(driver, topic, 1)
    writer = Writer(bootstrap, tmp_path / "file")
    writer.write()
    with closing(Worker(bootstrap, tmp_path)) as worker:

        def has_all() -> bool:
            return all(len(read(bootstrap, topic)) >= writer.count for topic in (FILE, MIRROR))

        worker.begin(
            "file",
            {
                "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
                "file": str(tmp_path / "file"),
                "topic": FILE,
            },
        )
        worker.begin(
            "mirror",
            {
                "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
                "source.cluster.alias": "a",
                "target.cluster.alias": "b",
                "source.cluster.bootstrap.servers": bootstrap,
                "target.cluster.bootstrap.servers": bootstrap,
                "source.consumer.isolation.level": "read_committed",
                "topics": "numbers",
                "replication.factor": "1",
                "offset-syncs.topic.replication.factor": "1",
                "sync.topic.acls.enabled": "false",
                "key.converter": BYTES,
                "value.converter": BYTES,
            },
        )
        eventually(has_all, "all is copied", PATIENCE_S)
        for accident in (worker.kill, broker.kill):
            writer.write()
            accident()
            if not broker.is_running():
                broker.start()
            writer.write()
            eventually(has_all, "all is copied", PATIENCE_S)
        for topic in (FILE, MIRROR):
            assert read(bootstrap, topic) == list(range(writer.count))
