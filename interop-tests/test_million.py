"""A million records of 100 bytes from confluent-kafka come back equal and in order, and memory stays flat."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.broker_process import BrokerProcess

RECORDS = 1_000_000
PARTITIONS = 4
MIB = 1 << 20


def value_of(number: int) -> bytes:
    """100 bytes that no other number has."""
    return struct.pack(">q", number) * 12 + b"last"


def resident(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))


@pytest.fixture
def fresh_broker(new_broker: Callable[..., BrokerProcess]) -> Iterator[BrokerProcess]:
    """A broker of its own, so that its memory tells of nothing else."""
    with new_broker() as broker:
        yield broker


def produce(bootstrap: str, topic: str, numbers: range) -> None:
    failures: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            failures.append(error)

    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "enable.idempotence": True})
    for number in numbers:
        while True:
            try:
                producer.produce(
                    topic, value_of(number), partition=number % PARTITIONS, on_delivery=on_delivery
                )
                break
            except BufferError:
                producer.poll(0.05)
        if number % 10_000 == 0:
            producer.poll(0)
    assert producer.flush(60) == 0
    assert failures == []


def consume(bootstrap: str, topic: str, count: int) -> list[list[bytes]]:
    """The values of each partition, in the order they came."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "none",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    try:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
        values: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
        missing = count
        while missing:
            messages = consumer.consume(10_000, timeout=10)
            assert messages, f"{missing} records did not come"
            for message in messages:
                assert message.error() is None
                received = values[message.partition()]
                assert message.offset() == len(received)
                received.append(message.value())
            missing -= len(messages)
        return values
    finally:
        consumer.close()


@pytest.mark.thorough("the client tests read their records back")
def test_a_million_records_come_back(fresh_broker: BrokerProcess, name: str) -> None:
    bootstrap = fresh_broker.bootstrap
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(30)

    warm_up = RECORDS // 10
    produce(bootstrap, name, range(warm_up))
    consume(bootstrap, name, warm_up)
    before = resident(fresh_broker.pid)
    produce(bootstrap, name, range(warm_up, RECORDS))
    values = consume(bootstrap, name, RECORDS)
    after = resident(fresh_broker.pid)

    for partition, received in enumerate(values):
        assert received == [value_of(number) for number in range(partition, RECORDS, PARTITIONS)]
    if fresh_broker.name == "kcompat":
        assert after - before < 16 * MIB
