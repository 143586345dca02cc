"""Records, groups and topics that an embedded broker shows, beside those that clients of each family see."""

from __future__ import annotations

import subprocess
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import aiokafka
import confluent_kafka
import kafka
import pytest
from confluent_kafka.admin import AdminClient

from kcompat import Broker, NewRecord
from support.eventually import eventually, limit_s
from support.kafka_jars import jvm
from tool_bench import CLASSES, MOVED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat import Group, Record

pytestmark = pytest.mark.timeout(240)

PARTITIONS = 5
KEYS = [None, b"", b"a", b"\x00\xff", *(b"key-%d" % n for n in range(20))]
HEADERS = [("h", b"x"), ("h", b"y"), ("empty", b"")]
NOW_MS = 1_700_000_000_000


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    config = {"num.partitions": PARTITIONS, "group.initial.rebalance.delay.ms": 0}
    with Broker(config=config) as started:
        yield started


def at(record: Any) -> tuple[int, int]:
    return record.partition, record.offset


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_of_kafka_python(broker: Broker, name: str, codec: str) -> None:
    compression = None if codec == "none" else codec
    with (
        closing(
            kafka.KafkaProducer(bootstrap_servers=broker.bootstrap_servers, compression_type=compression)
        ) as producer,
        broker.expects(name, len(KEYS), timeout=limit_s(30)) as got,
    ):
        sent = [
            producer.send(name, b"v" * 100, key=key, headers=HEADERS, timestamp_ms=NOW_MS + n)
            for n, key in enumerate(KEYS)
        ]
    places = {
        (future.get().partition, future.get().offset): key for future, key in zip(sent, KEYS, strict=True)
    }
    assert {at(record): record.key for record in got} == places
    assert {(record.value, record.headers) for record in got} == {(b"v" * 100, tuple(HEADERS))}
    assert sorted(record.timestamp for record in got) == [NOW_MS + n for n in range(len(KEYS))]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_of_librdkafka(broker: Broker, name: str, codec: str) -> None:
    settings = {"bootstrap.servers": broker.bootstrap_servers, "compression.type": codec}
    producer = confluent_kafka.Producer(settings)
    headers = [*HEADERS, ("null", None)]
    with broker.expects(name, len(KEYS), timeout=limit_s(30)) as got:
        for n, key in enumerate(KEYS):
            producer.produce(name, None if n % 2 else b"v" * 100, key, headers=headers, timestamp=NOW_MS + n)
        assert producer.flush(limit_s(30)) == 0
    found = sorted(got, key=lambda record: record.timestamp)
    assert [record.key for record in found] == KEYS
    assert [record.value for record in found] == [None if n % 2 else b"v" * 100 for n in range(len(KEYS))]
    assert {record.headers for record in found} == {tuple(headers)}


def test_keys_go_where_producers_send_them(broker: Broker, name: str) -> None:
    added = {
        each.partition
        for each in broker.add_all(name, [NewRecord("v", partition=n) for n in range(PARTITIONS)])
    }
    assert added == set(range(PARTITIONS))
    keys = [key for key in KEYS if key]  # librdkafka sends an empty key anywhere
    settings = {"bootstrap.servers": broker.bootstrap_servers, "partitioner": "murmur2_random"}
    librdkafka = confluent_kafka.Producer(settings)
    with closing(kafka.KafkaProducer(bootstrap_servers=broker.bootstrap_servers)) as python:
        for key in keys:
            librdkafka.produce(name, b"v", key)
            python.send(name, b"v", key=key)
        librdkafka.flush(limit_s(30))
        python.flush()
    broker.add_all(name, [(key, "v") for key in keys])
    chosen: dict[bytes | None, list[int]] = {}
    for record in broker.records(name):
        chosen.setdefault(record.key, []).append(record.partition)
    del chosen[None]
    assert {key: len(found) for key, found in chosen.items()} == dict.fromkeys(keys, 3)
    assert all(len(set(found)) == 1 for found in chosen.values()), chosen


def test_each_family_reads_what_was_added(broker: Broker, name: str) -> None:
    headers = [*HEADERS, ("null", None)]
    added = broker.add_all(
        name, [NewRecord(f"v{n}", key, headers, timestamp=NOW_MS + n) for n, key in enumerate(KEYS)]
    )
    expected = sorted(
        (each.partition, each.offset, key, b"v%d" % n, NOW_MS + n)
        for n, (each, key) in enumerate(zip(added, KEYS, strict=True))
    )
    with kafka_python_consumer(broker, name, None) as python:
        read = [next(python) for _ in KEYS]
    rows = [(each.partition, each.offset, each.key, each.value, each.timestamp) for each in read]
    assert sorted(rows, key=lambda row: row[:2]) == expected
    assert {tuple(each.headers) for each in read} == {tuple(headers)}
    with librdkafka_consumer(broker, name, f"{name}-reader") as consumer:
        messages = consumer.consume(len(KEYS), limit_s(30))
    rows = [
        (each.partition(), each.offset(), each.key(), each.value(), each.timestamp()[1]) for each in messages
    ]
    assert sorted(rows, key=lambda row: row[:2]) == expected
    assert {tuple(each.headers()) for each in messages} == {tuple(headers)}


def test_transactions(broker: Broker, name: str) -> None:
    settings = {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": name}
    producer = confluent_kafka.Producer(settings)
    producer.init_transactions(limit_s(30))

    def write(value: bytes) -> None:
        producer.begin_transaction()
        producer.produce(name, value, partition=0)
        assert producer.flush(limit_s(30)) == 0

    def values(isolation: Any) -> list[bytes | None]:
        return [record.value for record in broker.records(name, 0, isolation)]

    broker.add(name, "plain", partition=0)
    write(b"committed")
    producer.commit_transaction(limit_s(30))
    write(b"aborted")
    producer.abort_transaction(limit_s(30))
    write(b"open")
    broker.add(name, "behind", partition=0)
    assert values("read_uncommitted") == [b"plain", b"committed", b"aborted", b"open", b"behind"]
    assert values("read_committed") == [b"plain", b"committed"]
    with (
        pytest.raises(AssertionError, match="3 offsets wait for the end of a transaction"),
        broker.expects(name, 1, timeout=0.1, isolation="read_committed"),
    ):
        broker.add(name, "later", partition=0)
    with broker.expects(name, 0, isolation="read_committed"):
        pass
    producer.commit_transaction(limit_s(30))
    assert values("read_committed") == [b"plain", b"committed", b"open", b"behind", b"later"]
    marked = broker.records(name, 0)[1]
    assert (marked.is_transactional, marked.sequence, marked.producer_id >= 0) == (True, 0, True)


@contextmanager
def kafka_python_consumer(broker: Broker, topic: str, group: str | None) -> Iterator[kafka.KafkaConsumer]:
    with closing(
        kafka.KafkaConsumer(
            topic,
            bootstrap_servers=broker.bootstrap_servers,
            group_id=group,
            client_id="python",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            consumer_timeout_ms=int(limit_s(30) * 1000),
        )
    ) as consumer:
        yield consumer


@contextmanager
def librdkafka_consumer(
    broker: Broker, topic: str, group: str, protocol: str = "classic"
) -> Iterator[confluent_kafka.Consumer]:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": group,
            "group.protocol": protocol,
            "client.id": "rdkafka",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    with closing(consumer):
        consumer.subscribe([topic])
        yield consumer


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups_as_an_admin_client_sees_them(broker: Broker, name: str, protocol: str) -> None:
    broker.add_all(name, [NewRecord("v", partition=n) for n in range(PARTITIONS)])
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    with librdkafka_consumer(broker, name, name, protocol) as consumer:
        messages = consumer.consume(PARTITIONS, limit_s(30))
        assert len(messages) == PARTITIONS
        consumer.commit(message=messages[0], asynchronous=False)
        broker.add(name, "more", partition=messages[0].partition())
        group = broker.groups()[name]
        described = admin.describe_consumer_groups([name])[name].result(limit_s(30))
        wanted = confluent_kafka.ConsumerGroupTopicPartitions(name)
        committed = admin.list_consumer_group_offsets([wanted])[name].result(limit_s(30)).topic_partitions
    assert (group.kind, group.state) == (protocol, described.state.name.title())
    assert group.assignor == described.partition_assignor
    assert [rows(each) for each in group.members] == [
        (
            member.member_id,
            member.client_id,
            member.host,
            sorted((each.topic, each.partition) for each in member.assignment.topic_partitions),
        )
        for member in described.members
    ]
    assert [(each.topic, each.partition, each.committed) for each in group.offsets] == [
        (each.topic, each.partition, each.offset) for each in committed if each.offset >= 0
    ]
    assert (group.lag, group.offsets[0].end_offset) == (1, 2)
    left = broker.groups()[name]
    assert (left.state, left.members) == ("Empty", [])


def rows(member: Any) -> tuple[str, str, str, list[tuple[str, int]]]:
    partitions = [(topic, index) for topic, indexes in member.assignment.items() for index in indexes]
    return member.id, member.client_id, member.host, sorted(partitions)


def test_a_group_of_kafka_python(broker: Broker, name: str) -> None:
    broker.add_all(name, ["a", "b"])
    with kafka_python_consumer(broker, name, name) as consumer:
        next(consumer)
        consumer.commit()
        group = broker.groups()[name]
    assert (group.kind, group.state, group.protocol_type, group.assignor) == (
        "classic",
        "Stable",
        "consumer",
        "range",
    )
    (member,) = group.members
    assert member.client_id == "python"
    assert (member.subscription, member.assignment) == ([name], {name: list(range(PARTITIONS))})
    assert group.lag == 1


async def expect_of_aiokafka(broker: Broker, topic: str) -> list[Record]:
    async with (
        aiokafka.AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers) as producer,
        broker.expects(topic, 2, timeout=limit_s(30)) as got,
    ):
        await producer.send(topic, b"a", partition=0)  # sent by a task of this loop
        await producer.send(topic, b"b", partition=0)
    return got


def test_an_asynchronous_block_lets_the_producer_send(broker: Broker, name: str) -> None:
    import asyncio

    got = asyncio.run(expect_of_aiokafka(broker, name))
    assert [record.value for record in got] == [b"a", b"b"]


@pytest.mark.thorough("kafka-python and librdkafka choose the same partitions")
def test_keys_go_where_a_java_producer_sends_them(broker: Broker, name: str) -> None:
    keys = [f"key-{n}" for n in range(50)]
    broker.add_all(name, [(key, "ours") for key in keys])
    words = [*jvm("3.9.2"), MOVED["console-producer"], "--bootstrap-server", broker.bootstrap_servers]
    options = ["--topic", name, "--property", "parse.key=true", "--property", "key.separator=:"]
    with broker.expects(name, len(keys), timeout=limit_s(60)) as got:
        text = "".join(f"{key}:java's\n" for key in keys)
        subprocess.run([*words, *options], input=text, text=True, check=True, capture_output=True)
    ours = [record for record in broker.records(name) if record.value == b"ours"]
    assert sorted((each.key, each.partition) for each in ours) == sorted(
        (each.key, each.partition) for each in got
    )


@pytest.mark.thorough("tests/wire/test_described_groups.py has share groups, of a raw client")
def test_a_share_group_of_java(broker: Broker, name: str) -> None:
    broker.add(name, "v")
    words = [*jvm("4.3.0"), CLASSES["console-share-consumer"], "--bootstrap-server", broker.bootstrap_servers]
    with subprocess.Popen([*words, "--topic", name, "--group", name], stdout=subprocess.PIPE) as consumer:
        try:

            def assigned() -> Group | None:
                group = broker.groups().get(name)
                return group if group and group.members and group.members[0].assignment else None

            group = eventually(assigned, "the consumer has its partitions", 60)
            assert (group.kind, group.state, group.assignor) == ("share", "Stable", "simple")
            assert group.members[0].assignment == {name: list(range(PARTITIONS))}
        finally:
            consumer.terminate()
