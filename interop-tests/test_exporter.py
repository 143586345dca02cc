"""A public exporter of consumer groups works against kcompat, and shows what it shows of a Kafka.

It reads positions from the records of `__consumer_offsets`, and the ends of the logs by ListOffsets.
"""

from __future__ import annotations

import subprocess
import time
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pytest

from kcompat import Broker
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from real_kafka import RealKafka
from support.eventually import eventually
from support.places import VENVS
from support.ports import free_port
from support.raw_client import RawClient
from support.raw_requests import commit_offset, create_topic, delete_records, find_coordinator, produce
from support.watched_broker import Page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.thorough("tests/wire/test_metrics.py has our own metrics")

EXPORTER: Final = VENVS / "exporter" / "bin" / "prometheus-kafka-consumer-group-exporter"
OFTEN: Final = ("--topic-interval", "1", "--high-water-interval", "1", "--low-water-interval", "1")
WANTED: Final = {
    "kafka_topic_highwater": 5,
    "kafka_topic_lowwater": 1,
    "kafka_consumer_group_offset": 3,
    "kafka_consumer_group_lag": 2,
    "kafka_consumer_group_lead": 2,
}
"""Values of the topic's only partition, and of the group that reads it."""


@contextmanager
def started(kind: str) -> Iterator[int]:
    """Run a broker; yield its port."""
    if kind == "kafka":
        with RealKafka() as kafka:
            yield kafka.port
    else:
        with Broker() as broker:
            yield int(broker.bootstrap_servers.rpartition(":")[2])


@contextmanager
def exporting(broker_port: int, log: Path) -> Iterator[str]:
    """Run the exporter; yield the address of its page."""
    port = free_port()
    words = [str(EXPORTER), "-b", f"127.0.0.1:{broker_port}", "-p", str(port), "--from-start", *OFTEN]
    with log.open("wb") as out, subprocess.Popen(words, stdout=out, stderr=out) as process:
        try:
            yield f"http://127.0.0.1:{port}/metrics"
        finally:
            process.kill()


def shown(url: str) -> dict[str, float]:
    """Return the values that the exporter shows of the topic, by name; none while it is not there."""
    try:
        with urllib.request.urlopen(url) as answer:
            page = Page(answer.read().decode())
    except OSError:
        return {}
    return {
        name: each.value
        for name in WANTED
        for each in page.samples.get(name, ())
        if each.labels["topic"] == "orders" and each.labels.get("group", "readers") == "readers"
    }


@pytest.mark.parametrize("kind", ["kcompat", "kafka"])
def test_an_exporter_shows_groups_and_logs(kind: str, tmp_path: Path) -> None:
    if not EXPORTER.exists():
        pytest.skip("the exporter is not there: python interop-tests/fetch.py venv-exporter")
    batch = build_batch([Record(0, int(time.time() * 1000), None, b"value")])
    with started(kind) as port, RawClient(("127.0.0.1", port)) as client:
        create_topic(client, "orders")
        for _ in range(5):
            eventually(lambda: produce(client, "orders", batch).error_code == 0)
        assert delete_records(client, "orders", 1).error_code == 0
        eventually(lambda: find_coordinator(client, "readers") == 0)
        eventually(lambda: commit_offset(client, "readers", "orders", 3) == 0)
        log = tmp_path / "exporter.log"
        with exporting(port, log) as url:
            eventually(lambda: shown(url) == WANTED, lambda: f"{shown(url)}\n{log.read_text()}")
