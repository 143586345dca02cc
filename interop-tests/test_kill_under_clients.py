"""A broker killed and started again under real clients that go on as if it were the network.

An idempotent producer of confluent-kafka stores every record exactly once and in order; the members of a
group, alive all the time, see every record, and a single member sees none twice.
"""

from __future__ import annotations

import random
import threading
import time
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support.eventually import Patience

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.broker_process import BrokerProcess

KILLS = 4
PARTITIONS = 3


class ProducerThread(threading.Thread):
    """Numbers to every partition in turn until it is told to stop; at the end, all have been delivered."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__(daemon=True)
        self._topic = topic
        self._done = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 2,
                "retry.backoff.ms": 50,
            }
        )
        self.failures: list[KafkaError] = []
        self.sent = 0
        self.delivered = 0

    def run(self) -> None:
        while not self._done.is_set():
            self._producer.produce(
                self._topic,
                b"%d" % self.sent,
                partition=self.sent % PARTITIONS,
                on_delivery=self._on_delivery,
            )
            self.sent += 1
            self._producer.poll(0)
            time.sleep(0.0005)
        self._producer.flush(60)

    def _on_delivery(self, error: KafkaError | None, _message: Message) -> None:
        if error is None:
            self.delivered += 1
        else:
            self.failures.append(error)

    def finish(self) -> None:
        self._done.set()
        self.join(90)
        assert not self.is_alive()
        assert self.failures == []
        assert self.delivered == self.sent


class ConsumerThread(threading.Thread):
    """A member of a group that reads and commits as it goes, until it is told to stop."""

    def __init__(self, bootstrap: str, topic: str, group: str) -> None:
        super().__init__(daemon=True)
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "auto.commit.interval.ms": 100,
                "session.timeout.ms": 30_000,
            }
        )
        self._consumer.subscribe([topic])
        self._done = threading.Event()
        self.values: list[list[int]] = [[] for _ in range(PARTITIONS)]

    def run(self) -> None:
        while not self._done.is_set():
            message = self._consumer.poll(0.1)
            if message is not None and message.error() is None:
                self.values[message.partition()].append(int(message.value()))
        self._consumer.close()

    def finish(self) -> None:
        self._done.set()
        self.join(30)
        assert not self.is_alive()


def await_all(consumers: list[ConsumerThread], count: int) -> None:
    """Wait until the members together have seen the numbers below `count`."""
    patience = Patience(60)
    missing = set(range(count))
    while missing and patience.lasts:
        time.sleep(0.05)
        missing -= {value for consumer in consumers for values in consumer.values for value in list(values)}
    assert not missing, f"{len(missing)} records did not come, the first {min(missing)}"


@pytest.fixture
def mortal_broker(new_broker: Callable[..., BrokerProcess]) -> Iterator[BrokerProcess]:
    with new_broker() as broker:
        yield broker


def stored(bootstrap: str, topic: str) -> list[list[int]]:
    """Return the values in each partition, read anew."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none", "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
    values: list[list[int]] = [[] for _ in range(PARTITIONS)]
    ended: set[int] = set()
    while len(ended) < PARTITIONS:
        message = consumer.poll(10)
        assert message is not None
        error = message.error()
        if error is None:
            values[message.partition()].append(int(message.value()))
        elif error.code() == KafkaError._PARTITION_EOF:
            ended.add(message.partition())
    consumer.close()
    return values


@pytest.mark.parametrize("members", [pytest.param(1, marks=pytest.mark.thorough("the same with 2")), 2])
def test_clients_outlive_their_broker(mortal_broker: BrokerProcess, name: str, members: int) -> None:
    bootstrap = mortal_broker.bootstrap
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(30)
    producer = ProducerThread(bootstrap, name)
    consumers = [ConsumerThread(bootstrap, name, f"{name}-group") for _ in range(members)]
    for thread in (producer, *consumers):
        thread.start()
    for _ in range(KILLS):
        time.sleep(random.uniform(0.5, 2))
        mortal_broker.kill()
        mortal_broker.start()
    time.sleep(1)
    producer.finish()
    await_all(consumers, producer.sent)
    for consumer in consumers:
        consumer.finish()
    expected = [list(range(partition, producer.sent, PARTITIONS)) for partition in range(PARTITIONS)]
    assert stored(bootstrap, name) == expected
    if members == 1:
        assert consumers[0].values == expected
