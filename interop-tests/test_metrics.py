"""Our metrics have the names that the JMX exporter gives those of a Kafka, and the same counts."""

from __future__ import annotations

import re
import time
import urllib.request
from typing import TYPE_CHECKING, Final

import pytest

from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from real_kafka import RealKafka
from support.eventually import eventually
from support.kafka_jars import short_lived
from support.places import CACHE, REPOSITORY
from support.ports import free_port
from support.raw_client import RawClient
from support.raw_requests import commit_offset, create_topic, fetch, find_coordinator, produce
from support.watched_broker import Page, watched_broker

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.thorough("tests/wire/test_metrics.py compares the counts with what was done")

AGENT: Final = CACHE / "jmx-exporter" / "libs" / "jmx_prometheus_javaagent-0.20.0.jar"
RULES: Final = REPOSITORY / "interop-tests" / "java" / "jmx-exporter-rules.yaml"

EQUAL: Final = (
    "messagesin",
    "bytesin",
    "bytesout",
    "totalproducerequests",
    "failedproducerequests",
    "bytesrejected",
)
"""Counts of a topic that are the same after the same requests."""

LATE: Final = (
    "failedproducerequests_total",
    "failedfetchrequests_total",
    "producemessageconversions_total",
    "fetchmessageconversions_total",
)
"""Counts that a Kafka makes for a topic when they begin to count."""


def work_with(address: tuple[str, int]) -> None:
    """Write and read some records, also wrongly."""
    batch = build_batch([Record(0, int(time.time() * 1000), None, b"value")] * 3)
    with RawClient(address) as client:
        client.call(ApiVersionsRequest("tests", "1.0"), 3)
        create_topic(client, "orders", 2)
        create_topic(client, "small", 1, {"max.message.bytes": "60"})
        eventually(lambda: produce(client, "small", batch).error_code == 10)
        eventually(lambda: fetch(client, "orders", 0).error_code == 0)
        for _ in range(4):
            assert produce(client, "orders", batch).error_code == 0
        assert len(fetch(client, "orders", 0).records) == 4 * len(batch)
        eventually(lambda: find_coordinator(client, "readers") == 0)
        eventually(lambda: commit_offset(client, "readers", "orders", 3) == 0)


@pytest.fixture(scope="module")
def kafkas() -> Iterator[Page]:
    """The metrics of Kafka 3.9.2."""
    if not AGENT.exists():
        pytest.skip("the agent is not there: python interop-tests/fetch.py jmx-exporter")
    port = free_port()
    agent = f"-javaagent:{AGENT}=127.0.0.1:{port}:{RULES}"
    with RealKafka(options=(*short_lived("3.9.2"), agent)) as kafka:
        work_with(("127.0.0.1", kafka.port))
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            yield Page(answer.read().decode())


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with watched_broker("--memory", cwd=tmp_path_factory.mktemp("ours")) as broker:
        work_with(broker.addresses[0])
        yield broker.page()


def test_names_are_those_of_a_kafka(kafkas: Page, ours: Page) -> None:
    mine = {name for name in ours.samples if name.startswith("kafka_")}
    assert mine <= kafkas.samples.keys()


def label_names(page: Page, name: str) -> set[frozenset[str]]:
    """Return the sets of labels that the samples of a metric have."""
    return {frozenset(each.labels) for each in page.samples[name]}


def test_labels_are_those_of_a_kafka(kafkas: Page, ours: Page) -> None:
    """A Kafka has no sample of a topic until the first failure or conversion there; ours then shows 0."""
    different = {
        name: more
        for name in ours.samples
        if name.startswith("kafka_") and (more := label_names(ours, name) - label_names(kafkas, name))
    }
    assert different == {f"kafka_server_brokertopicmetrics_{each}": {frozenset({"topic"})} for each in LATE}
    for name, label in (
        ("kafka_server_delayedoperationpurgatory_purgatorysize", "delayedOperation"),
        ("kafka_network_requestmetrics_totaltimems", "quantile"),
    ):
        shown = {page: {each.labels[label] for each in page.samples[name]} for page in (kafkas, ours)}
        assert shown[ours] <= shown[kafkas], name


def test_counts_are_those_of_a_kafka(kafkas: Page, ours: Page) -> None:
    for topic in ("orders", "small"):
        for count in EQUAL:
            name = f"kafka_server_brokertopicmetrics_{count}_total"
            found = {
                page: [each.value for each in page.samples[name] if each.labels.get("topic") == topic]
                for page in (kafkas, ours)
            }
            assert sum(found[kafkas]) == sum(found[ours]), (topic, count)


def test_requests_have_the_names_of_a_kafka(kafkas: Page, ours: Page) -> None:
    name = "kafka_network_requestmetrics_requests_total"
    requests = {
        page: {each.labels["request"] for each in page.samples[name] if each.value} for page in (kafkas, ours)
    }
    assert requests[ours] <= requests[kafkas]
    assert all(re.fullmatch(r"[A-Z]\w+", each) for each in requests[ours])
