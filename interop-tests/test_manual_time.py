"""Real clients on a broker whose time is moved ahead while they are connected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import confluent_kafka as ck
import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from drivers.kafka_python import JOIN_MS, subscribed
from kcompat import Broker
from support.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TOPIC = "orders"


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(clock="manual") as started:
        yield started


@pytest.fixture
def producer(broker: Broker) -> Iterator[KafkaProducer]:
    with KafkaProducer(bootstrap_servers=broker.bootstrap_servers) as opened:
        yield opened


def kafka_python(broker: Broker) -> tuple[Callable[[], list[bytes]], Callable[[], object]]:
    """How a member reads, and how it is closed."""
    consumer = subscribed(
        TOPIC, bootstrap_servers=broker.bootstrap_servers, group_id="g", auto_offset_reset="earliest"
    )

    def read() -> list[bytes]:
        polled: Any = consumer.poll(JOIN_MS)
        return [record.value for records in polled.values() for record in records]

    return read, consumer.close


def confluent(broker: Broker) -> tuple[Callable[[], list[bytes]], Callable[[], object]]:
    """How a member reads, and how it is closed."""
    settings: Any = {
        "bootstrap.servers": broker.bootstrap_servers,
        "group.id": "g",
        "auto.offset.reset": "earliest",
        "heartbeat.interval.ms": 300,
    }
    consumer = ck.Consumer(settings)
    consumer.subscribe([TOPIC])

    def read() -> list[bytes]:
        records: Any = consumer.consume(1, 0.1)
        return [record.value() for record in records if record.error() is None]

    return read, consumer.close


@pytest.mark.parametrize("open_member", [kafka_python, confluent])
def test_a_member_joins_again_and_goes_on(broker: Broker, producer: KafkaProducer, open_member: Any) -> None:
    producer.send(TOPIC, b"before").get(30)
    read, close = open_member(broker)
    assert eventually(read) == [b"before"]
    broker.advance(days=8)
    producer.send(TOPIC, b"after", timestamp_ms=broker.now_ms).get(30)
    assert eventually(read) == [b"after"]
    close()


def test_offsets_of_a_group_that_has_gone_expire_with_the_records(
    broker: Broker, producer: KafkaProducer
) -> None:
    producer.send(TOPIC, b"order").get(30)
    read, close = kafka_python(broker)
    assert eventually(read) == [b"order"]
    close()  # commits and leaves
    partition = TopicPartition(TOPIC, 0)
    with KafkaConsumer(bootstrap_servers=broker.bootstrap_servers, group_id="g") as consumer:
        assert consumer.committed(partition) == 1
        broker.advance(days=6)
        assert consumer.committed(partition) == 1
        assert consumer.beginning_offsets([partition]) == {partition: 0}
        broker.advance(days=1, minutes=1)
        assert consumer.committed(partition) is None
        assert consumer.beginning_offsets([partition]) == {partition: 1}
