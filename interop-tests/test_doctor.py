"""`kcompat doctor` finds nothing wrong with a healthy Kafka, and names what is wrong with one that is not."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from kcompat.doctor.diagnosis import diagnose
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from real_kafka import RealKafka
from support.eventually import eventually
from support.ports import free_port
from support.raw_client import RawClient
from support.raw_requests import commit_offset, create_topic, delete_records, find_coordinator, produce

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NONE: Mapping[str, str] = {}
VERSIONS = ["3.9.2", pytest.param("4.3.0", marks=pytest.mark.thorough("the same with 3.9.2"))]


@pytest.fixture(scope="module", params=VERSIONS)
def kafka(request: pytest.FixtureRequest) -> Iterator[RealKafka]:
    """A Kafka with a topic that a group has read."""
    with RealKafka(request.param) as running:
        with RawClient(("127.0.0.1", running.port)) as client:
            create_topic(client, "orders", 3)
            now = int(time.time() * 1000)
            batch = build_batch([Record(0, now, None, b"value")] * 5)
            eventually(lambda: produce(client, "orders", batch).error_code == 0)
            eventually(lambda: find_coordinator(client, "readers") == 0)
            eventually(lambda: commit_offset(client, "readers", "orders", 5) == 0)
        yield running


def names_of(address: str, properties: Mapping[str, str] = NONE, most_lag: int = 10) -> list[str]:
    """Return the names of the findings for a client with these properties."""
    return [each.name for each in diagnose({"bootstrap.servers": address, **properties}, most_lag)]


def test_a_healthy_kafka_gets_no_finding(kafka: RealKafka) -> None:
    assert names_of(kafka.bootstrap) == []


@pytest.mark.thorough("test_a_healthy_kafka_gets_no_finding")
def test_what_is_wrong_with_a_kafka_is_named(kafka: RealKafka) -> None:
    address = kafka.bootstrap
    assert names_of(address, {"security.protocol": "SSL"}) == ["tls-on-plain-port"]
    assert names_of(address, {"transaction.timeout.ms": "999999999"}) == ["setting-beyond-limit"]
    assert names_of(f"127.0.0.1:{kafka._controller_port}") == ["controller-port"]
    with RawClient(("127.0.0.1", kafka.port)) as client:
        assert commit_offset(client, "readers", "orders", 1) == 0
        try:
            assert names_of(address, most_lag=3) == ["group-lags"]
            delete_records(client, "orders", 3)
            assert names_of(address) == ["group-lost-records"]
        finally:
            assert commit_offset(client, "readers", "orders", 5) == 0


@pytest.mark.thorough("test_a_healthy_kafka_gets_no_finding")
def test_an_address_that_does_not_answer_is_named() -> None:
    closed = f"PLAINTEXT://127.0.0.1:{free_port()}"
    with RealKafka(properties={"advertised.listeners": closed}) as kafka:
        assert names_of(kafka.bootstrap) == ["advertised-address-does-not-answer"]
