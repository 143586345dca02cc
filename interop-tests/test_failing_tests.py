"""Typical mistakes of tests with each Python client: the report of the failing test names the cause."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from support.eventually import limit_s
from support.plugin_paths import paths_with_plugin

if TYPE_CHECKING:
    from collections.abc import Mapping

CONFTEST = '''
import confluent_kafka
import kafka
import pytest
from kcompat.testing import factories

tls_broker = factories.kafka_broker(tls=True, scope="function")
strict_broker = factories.kafka_broker(config={"auto.create.topics.enable": False}, scope="function")
small_broker = factories.kafka_broker(config={"message.max.bytes": 1000}, scope="function")


class Confluent:
    def __init__(self, closers):
        self._closers = closers

    def produce(self, broker, topic, value=b"order", **settings):
        outcomes = []
        settings = {"bootstrap.servers": broker.bootstrap_servers, "client.id": "orders", **settings}
        producer = confluent_kafka.Producer({**settings, "message.timeout.ms": 1000})
        self._closers.append(producer.purge)
        producer.produce(topic, value, on_delivery=lambda error, _: outcomes.append(error))
        assert producer.flush(2) == 0
        assert outcomes == [None]

    def consumer(self, broker, topic, group, name, **settings):
        settings = {"bootstrap.servers": broker.bootstrap_servers, **settings}
        consumer = confluent_kafka.Consumer({**settings, "group.id": group, "client.id": name})
        self._closers.append(consumer.close)
        consumer.subscribe([topic])
        return consumer

    def gets_a_record(self, consumer, seconds):
        message = consumer.poll(seconds)
        return message is not None and message.error() is None


class KafkaPython:
    def __init__(self, closers):
        self._closers = closers

    def produce(self, broker, topic, value=b"order", **settings):
        settings = {key.replace(".", "_"): value for key, value in settings.items()}
        settings = {"bootstrap_servers": broker.bootstrap_servers, "client_id": "orders", **settings}
        producer = kafka.KafkaProducer(**settings, max_block_ms=2000, bootstrap_timeout_ms=2000)
        self._closers.append(lambda: producer.close(timeout=0))
        producer.send(topic, value).get(3)

    def consumer(self, broker, topic, group, name, **settings):
        settings = {key.replace(".", "_"): value for key, value in settings.items()}
        settings = {"bootstrap_servers": broker.bootstrap_servers, **settings}
        consumer = kafka.KafkaConsumer(topic, **settings, group_id=group, client_id=name)
        self._closers.append(lambda: consumer.close(autocommit=False, timeout_ms=1000))
        return consumer

    def gets_a_record(self, consumer, seconds):
        return bool(consumer.poll(1000 * seconds))


LIBRARIES = {"confluent": Confluent, "kafka-python": KafkaPython}


@pytest.fixture
def client(library):
    closers = []
    yield LIBRARIES[library](closers)
    for close in closers:
        close()


@pytest.fixture(scope="session")
def careless(kafka_broker):
    """A function that returns a library whose clients stay open until the end of the run."""
    closers = []
    yield lambda library: LIBRARIES[library](closers)
    for close in closers:
        close()
'''

HEAD = """
import time

import pytest

library = pytest.mark.parametrize("library", ["{library}"])
LIMIT_S = {limit_s}

def poll_until_asked(client, consumer, requests, **wanted):
    # Not for a number of seconds: a client on a busy machine takes its time.
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until and not requests(**wanted):
        client.gets_a_record(consumer, 1)

"""

REFUSALS = """
@library
def test_tls_to_a_plain_port(client, kafka_broker, kafka_topic):
    client.produce(kafka_broker, kafka_topic, **{"security.protocol": "SSL"})

@library
def test_no_tls_to_a_port_with_tls(client, tls_broker, kafka_topic):
    client.produce(tls_broker, kafka_topic)

@library
def test_topic_that_is_missing(client, strict_broker):
    client.produce(strict_broker, "orders")

@library
def test_message_that_is_too_large(client, small_broker, kafka_topic):
    client.produce(small_broker, kafka_topic, 5000 * b"x")
"""

LEAK = """
@library
def test_consumer_that_stays_open(library, careless, kafka_broker):
    client = careless(library)
    client.produce(kafka_broker, "orders")
    consumer = client.consumer(kafka_broker, "orders", "g", "leaked", **{"auto.offset.reset": "earliest"})
    assert client.gets_a_record(consumer, 20)

@library
def test_group_with_a_consumer_of_another_test(client, kafka_broker):
    consumer = client.consumer(kafka_broker, "orders", "g", "second", **{"auto.offset.reset": "earliest"})
    poll_until_asked(client, consumer, kafka_broker.requests, client_id="second", api="JoinGroup")
    assert client.gets_a_record(consumer, 2)
"""

READING = """
def has_settled(group):
    return group and group.state == "Stable" and len(group.members) == 2

@library
def test_more_consumers_than_partitions(client, kafka_broker, kafka_topic):
    client.produce(kafka_broker, kafka_topic)
    consumers = [client.consumer(kafka_broker, kafka_topic, kafka_topic, name) for name in ("a", "b")]
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until and not has_settled(kafka_broker.groups().get(kafka_topic)):
        for consumer in consumers:
            client.gets_a_record(consumer, 0.1)
    assert all(consumer.assignment() for consumer in consumers)

@library
def test_reader_that_begins_at_the_end(client, kafka_broker, kafka_topic):
    client.produce(kafka_broker, kafka_topic)
    consumer = client.consumer(kafka_broker, kafka_topic, kafka_topic, "reader")
    poll_until_asked(client, consumer, kafka_broker.requests, client_id="reader", api="Fetch")
    assert client.gets_a_record(consumer, 2)
"""


THOROUGH = pytest.mark.thorough("the same mistakes of confluent-kafka")


@pytest.fixture(scope="module", params=["confluent", pytest.param("kafka-python", marks=THOROUGH)])
def stories(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The section about the clients in the report of each failing test, by the name of the test."""
    directory = tmp_path_factory.mktemp("mistakes")
    (directory / "conftest.py").write_text(CONFTEST)
    begin = HEAD.format(library=request.param, limit_s=limit_s(60))
    for name, tests in {"refusals": REFUSALS, "leak": LEAK, "reading": READING}.items():
        (directory / f"test_{name}.py").write_text(begin + tests)
    options = [
        "-p",
        "no:randomly",
        "-p",
        "no:asyncio",
        "-W",
        "ignore",
        "-n3",
        "--dist=loadfile",
        "--tb=short",
    ]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": paths_with_plugin(directory / "installed")},
        capture_output=True,
        text=True,
        timeout=limit_s(100),
    )
    assert "7 failed, 1 passed" in ran.stdout, ran.stdout
    reports = re.split(r"^_+ (test_\w+)\S* _+$", ran.stdout, flags=re.MULTILINE)[1:]
    return {
        name: " ".join(text.partition(" what your clients did ")[2].split())
        for name, text in zip(reports[::2], reports[1::2], strict=True)
    }


@pytest.mark.parametrize(
    ("test", "sentence"),
    [
        (
            "test_tls_to_a_plain_port",
            "a connection from 127.0.0.1: the client speaks TLS, and listener PLAINTEXT does not. Take the "
            "client",
        ),
        (
            "test_no_tls_to_a_port_with_tls",
            "The broker closed a connection from 127.0.0.1: the client does not speak TLS, and listener SSL "
            "does. Take the client's settings from the fixture kafka_client_config",
        ),
        (
            "test_topic_that_is_missing",
            "Topic orders, which orders asked for, does not exist, and the broker does not create topics by "
            "itself (auto.create.topics.enable=false): create it before.",
        ),
        (
            "test_message_that_is_too_large",
            "000 bytes (max.message.bytes): MESSAGE_TOO_LARGE.",
        ),
        (
            "test_group_with_a_consumer_of_another_test",
            "leaked (since an earlier test)",
        ),
        (
            "test_more_consumers_than_partitions",
            "which has 2 members for 1 partition: test_more_consumers_than_partitions-",
        ),
        (
            "test_reader_that_begins_at_the_end",
            "at its end, offset 1, so it skipped 1 record: its group had no committed offset there, and "
            "auto.offset.reset is latest. Set auto.offset.reset=earliest.",
        ),
    ],
)
def test_the_report_names_the_cause(stories: Mapping[str, str], test: str, sentence: str) -> None:
    causes, _, _ = stories[test].partition(" Last requests to ")
    assert sentence in causes


def test_the_report_says_what_was_not_read(stories: Mapping[str, str]) -> None:
    story = stories["test_reader_that_begins_at_the_end"]
    assert "Groups: test_reader_that_begins_at_the_end-" in story
    assert re.search(
        r"reader joined(?: again)?: generation \d .* was given: test_reader_\S+-0 Produced in this "
        r"test and not read: test_reader_\S+-0: 1 record from offset 0, clients wait at offset 1 Last ",
        story,
    )
