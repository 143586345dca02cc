"""Transactions of clients: what is committed counts, with its offsets, and nothing else."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import aiokafka
import aiokafka.structs
import kafka
import kafka.structs
import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support.eventually import limit_s

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.broker_process import BrokerProcess

PARTITIONS = 2
ROUNDS = 6
PER_ROUND = 10
PATIENCE_S = 60


def commits(number: int) -> bool:
    """Every second transaction is aborted."""
    return number % 2 == 0


def values(number: int) -> list[bytes]:
    return [b"%d-%d" % (number, each) for each in range(PER_ROUND)]


def with_confluent(bootstrap: str, topic: str, group: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"{topic}-writer"})
    member = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    producer.init_transactions(limit_s(PATIENCE_S))
    for number in range(ROUNDS):
        producer.begin_transaction()
        for index, value in enumerate(values(number)):
            producer.produce(topic, value, partition=index % PARTITIONS)
        producer.flush(limit_s(PATIENCE_S))  # an abort drops what is still to be sent
        offsets = [TopicPartition(topic, 0, number + 1)]
        producer.send_offsets_to_transaction(offsets, member.consumer_group_metadata(), limit_s(PATIENCE_S))
        (producer.commit_transaction if commits(number) else producer.abort_transaction)(limit_s(PATIENCE_S))
    member.close()


def with_kafka_python(bootstrap: str, topic: str, group: str) -> None:
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, transactional_id=f"{topic}-writer")
    producer.init_transactions()
    place = kafka.TopicPartition(topic, 0)
    for number in range(ROUNDS):
        producer.begin_transaction()
        for index, value in enumerate(values(number)):
            producer.send(topic, value, partition=index % PARTITIONS)
        producer.flush()
        offset = kafka.structs.OffsetAndMetadata(number + 1, "", -1)
        producer.send_offsets_to_transaction({place: offset}, group)
        (producer.commit_transaction if commits(number) else producer.abort_transaction)()
    producer.close()


def with_aiokafka(bootstrap: str, topic: str, group: str) -> None:
    async def write() -> None:
        producer = aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=f"{topic}-writer")
        await producer.start()
        place = aiokafka.structs.TopicPartition(topic, 0)
        for number in range(ROUNDS):
            await producer.begin_transaction()
            for index, value in enumerate(values(number)):
                await producer.send(topic, value, partition=index % PARTITIONS)
            await producer.send_offsets_to_transaction({place: number + 1}, group)
            await (producer.commit_transaction if commits(number) else producer.abort_transaction)()
        await producer.stop()

    asyncio.run(write())


CLIENTS = [with_confluent, with_kafka_python, with_aiokafka]


def read(bootstrap: str, topic: str, isolation: str) -> set[bytes]:
    """All records of the topic, as a reader of this isolation level has them."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "isolation.level": isolation,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, index, 0) for index in range(PARTITIONS)])
    found, ended = set(), set()
    while len(ended) < PARTITIONS:
        message = consumer.poll(limit_s(PATIENCE_S))
        assert message is not None
        if message.error() is None:
            found.add(message.value())
        else:
            ended.add(message.partition())
    consumer.close()
    return found


def topic_of(bootstrap: str, name: str) -> str:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, PARTITIONS)])[name].result(limit_s(PATIENCE_S))
    return name


@pytest.mark.parametrize("write", CLIENTS, ids=lambda write: write.__name__)
def test_what_is_committed_counts(
    broker: BrokerProcess, name: str, write: Callable[[str, str, str], None]
) -> None:
    topic = topic_of(broker.bootstrap, name)
    write(broker.bootstrap, topic, f"{name}-group")
    every = [set(values(number)) for number in range(ROUNDS)]
    committed = {value for number in range(ROUNDS) if commits(number) for value in every[number]}
    assert read(broker.bootstrap, topic, "read_committed") == committed
    assert read(broker.bootstrap, topic, "read_uncommitted") == set().union(*every)
    group = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": f"{name}-group"})
    (place,) = group.committed([TopicPartition(topic, 0)], PATIENCE_S)
    group.close()
    assert place.offset == ROUNDS - 1, "of the last that was committed"


def test_a_second_producer_fences_the_first(broker: BrokerProcess, name: str) -> None:
    topic = topic_of(broker.bootstrap, name)
    settings = {"bootstrap.servers": broker.bootstrap, "transactional.id": f"{name}-writer"}
    first, second = Producer(settings), Producer(settings)
    first.init_transactions(limit_s(PATIENCE_S))
    first.begin_transaction()
    first.produce(topic, b"first", partition=0)
    first.flush(limit_s(PATIENCE_S))
    second.init_transactions(limit_s(PATIENCE_S))
    second.begin_transaction()
    second.produce(topic, b"second", partition=0)
    second.commit_transaction(PATIENCE_S)
    with pytest.raises(KafkaException) as refused:
        first.commit_transaction(PATIENCE_S)
    assert refused.value.args[0].fatal()
    assert read(broker.bootstrap, topic, "read_committed") == {b"second"}
