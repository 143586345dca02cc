"""Producers and a consumer that go on whatever happens to the brokers, and the history of what they saw."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any, Self

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from support.history import History, Outcome, Polled, Sent
from support.new_epochs import refused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from support.history import Place, Read
    from support.new_epochs import Refused

POLL_S = 0.05
DRAIN_S = 60
SEND_PAUSE_S = 0.002
LIGHT_PAUSE_S = 0.01
"""As much as it takes to have records under way at every moment, where a Kafka works for each of them."""


class Load:
    """Some idempotent producers with acks=all and one consumer of some partitions; `with` runs them."""

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        partitions: int,
        *,
        producers: int = 4,
        pause_s: float = SEND_PAUSE_S,
    ) -> None:
        """Each producer sends a record to one partition after the other, with a pause after each."""
        self.places: list[Place] = [(topic, index) for index in range(partitions)]
        self.history = History()
        self.acknowledged: list[tuple[float, int]] = []
        """When (monotonic seconds) a record of which partition was acknowledged, in order."""
        self.refusals: list[Refused] = []
        """Batches that were refused for a gap before them, as the producers say."""
        self._bootstrap = bootstrap
        self._pause_s = pause_s
        self._lock = threading.Lock()
        self._acknowledged = threading.Condition(self._lock)
        self._ending = threading.Event()
        self._ending_reads = threading.Event()
        self._senders = [
            threading.Thread(target=self._send, args=(f"p{number}",), daemon=True)
            for number in range(producers)
        ]
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        for thread in (self._reader, *self._senders):
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Send nothing more, and wait for what is under way."""
        self._ending.set()
        for thread in self._senders:
            thread.join(DRAIN_S * 2)
        self._ending_reads.set()
        self._reader.join(DRAIN_S)

    def wait_for_acknowledgement(self, partition: int, since_s: float, timeout_s: float) -> float:
        """When (monotonic seconds) the first record of a partition was acknowledged from `since_s` on.
        Raises TimeoutError.
        """
        deadline = time.monotonic() + timeout_s

        with self._acknowledged:
            while True:
                found = _first_since(self.acknowledged, partition, since_s)
                if found is not None:
                    return found
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"nothing was acknowledged in partition {partition} for {timeout_s} s")
                self._acknowledged.wait(left)

    def read_to_the_end(self) -> None:
        """Fill in the final reading: each partition from its start to its end."""
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "final",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
            }
        )
        for topic, index in self.places:
            records: list[Read] = []
            consumer.assign([TopicPartition(topic, index, 0)])
            deadline = time.monotonic() + DRAIN_S
            while True:
                message = consumer.poll(1)
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{topic}-{index} was not read to its end within {DRAIN_S} s")
                if message is None:
                    continue
                error = message.error()
                if error is None:
                    records.append((message.offset(), message.value()))
                elif error.code() == KafkaError._PARTITION_EOF:
                    break
            self.history.final[topic, index] = records
        consumer.close()

    def _send(self, name: str) -> None:
        producer = Producer(
            {
                "bootstrap.servers": self._bootstrap,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 1,
                "delivery.timeout.ms": 120_000,
                "request.timeout.ms": 5_000,
                "retry.backoff.ms": 20,
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 200,
                "topic.metadata.refresh.sparse": True,
                "debug": "eos",
            },
            logger=_Listener(name, self.refusals),
        )
        number = 0
        while not self._ending.is_set():
            place = self.places[number % len(self.places)]
            value = f"{name}-{number}".encode()
            producer.produce(
                place[0], value, partition=place[1], on_delivery=self._told(name, number, place, value)
            )
            number += 1
            producer.poll(0)
            time.sleep(self._pause_s)
        producer.flush(DRAIN_S)

    def _told(self, name: str, number: int, place: Place, value: bytes) -> Callable[[Any, Any], None]:
        def told(error: KafkaError | None, message: Any) -> None:
            now = time.monotonic()
            offset = None if error else message.offset()
            outcome = Outcome.UNKNOWN if error else Outcome.ACKNOWLEDGED
            with self._acknowledged:
                self.history.sent.append(Sent(name, number, place, value, outcome, offset))
                if error is None:
                    self.acknowledged.append((now, place[1]))
                    self._acknowledged.notify_all()

        return told

    def _read(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "witness",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "reconnect.backoff.max.ms": 200,
            }
        )
        consumer.assign([TopicPartition(topic, index, 0) for topic, index in self.places])
        while not self._ending_reads.is_set():
            messages = consumer.consume(500, POLL_S)
            self.history.polled += _polled(messages)
        consumer.close()


class _Listener(logging.Logger):
    """What a producer says of itself; only refusals are of interest."""

    def __init__(self, name: str, refusals: list[Refused]) -> None:
        super().__init__(name, logging.DEBUG)
        self._refusals = refusals

    def handle(self, record: logging.LogRecord) -> None:
        """Note a refusal."""
        found = refused(record.getMessage())
        if found is not None:
            self._refusals.append(found)


def _first_since(acknowledged: Sequence[tuple[float, int]], partition: int, since_s: float) -> float | None:
    found = None
    for when, index in reversed(acknowledged):
        if when < since_s:
            break
        if index == partition:
            found = when
    return found


def _polled(messages: Sequence[Any]) -> list[Polled]:
    by_place: dict[Place, list[Read]] = {}
    for message in messages:
        if message.error() is None:
            place = message.topic(), message.partition()
            by_place.setdefault(place, []).append((message.offset(), message.value()))
    return [Polled("witness", place, records) for place, records in by_place.items()]
