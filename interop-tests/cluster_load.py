"""Producers and a consumer that go on whatever happens to the brokers, and the history of what they saw."""

from __future__ import annotations

import logging
import threading
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, Self

import kafka
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from support.history import History, Outcome, Polled, Sent
from support.new_epochs import refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from support.history import Place, Read
    from support.new_epochs import Refused

    Told = Callable[[int | None], object]
    """Called with the offset of a record that was acknowledged; None: it was not."""
    Said = Callable[[str], object]
    """Called with a line that a producer would log."""

POLL_S = 0.05
DRAIN_S = 60
SEND_PAUSE_S = 0.002
DENIED_PAUSE_S = 0.05
LIGHT_PAUSE_S = 0.01
"""As much as it takes to have records under way at every moment, where a Kafka works for each of them."""
PATIENT = {
    "enable.idempotence": True,
    "acks": "all",
    "linger.ms": 1,
    "delivery.timeout.ms": 120_000,
    "request.timeout.ms": 1_000,
    "retry.backoff.ms": 20,
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 200,
    # A leader that is cut off from its peers alone answers REQUEST_TIMED_OUT. After that librdkafka asks
    # nobody who leads now.
    "topic.metadata.refresh.interval.ms": 500,
    "topic.metadata.refresh.sparse": True,
    "debug": "eos",
}
"""Settings of an idempotent producer that soon knows what has become of the brokers."""


class Sender(Protocol):
    """A producer of some client."""

    def send(self, place: Place, value: bytes, told: Told) -> bool:
        """Send one record; False where a broker has said that there is no such topic."""

    def close(self) -> None:
        """Wait for what was sent."""


class Confluent:
    """A producer of librdkafka, with its defaults but for `settings`."""

    def __init__(self, bootstrap: str, said: Said, settings: Mapping[str, Any] = {}) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, **settings}, logger=Listener(said))

    def send(self, place: Place, value: bytes, told: Told) -> bool:
        def delivered(error: KafkaError | None, message: Any) -> None:
            told(None if error else message.offset())

        try:
            self._producer.produce(place[0], value, partition=place[1], on_delivery=delivered)
        except KafkaException as denial:
            if denial.args[0].code() != KafkaError._UNKNOWN_TOPIC:
                raise
            self._producer.poll(DENIED_PAUSE_S)
            return False
        self._producer.poll(0)
        return True

    def close(self) -> None:
        self._producer.flush(DRAIN_S)


class KafkaPython:
    """A producer of kafka-python, with its defaults."""

    def __init__(self, bootstrap: str, _: Said) -> None:
        self._producer = kafka.KafkaProducer(bootstrap_servers=bootstrap)

    def send(self, place: Place, value: bytes, told: Told) -> bool:
        sent = self._producer.send(place[0], value, partition=place[1])
        sent.add_callback(lambda metadata: told(metadata.offset))
        sent.add_errback(lambda _: told(None))
        return True

    def close(self) -> None:
        self._producer.flush(DRAIN_S)
        self._producer.close()


def patient(bootstrap: str, said: Said) -> Confluent:
    """An idempotent producer with acks=all."""
    return Confluent(bootstrap, said, PATIENT)


class Load:
    """Some producers and one consumer of some partitions; `with` runs them."""

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        partitions: int,
        *,
        producers: int = 4,
        pause_s: float = SEND_PAUSE_S,
        kinds: Sequence[Callable[[str, Said], Sender]] = (patient,),
    ) -> None:
        """So many producers, which `kinds` make in turn. Each sends to one partition after the other,
        with a pause after each record.
        """
        self.places: list[Place] = [(topic, index) for index in range(partitions)]
        self.history = History()
        self.acknowledged: list[tuple[float, int]] = []
        """When (monotonic seconds) a record of which partition was acknowledged, in order."""
        self.refusals: list[Refused] = []
        """Batches that were refused for a gap before them, as the producers say."""
        self.denials = 0
        """How often a producer heard that there is no such topic, as a Kafka says that has just started."""
        self.errors: list[str] = []
        """Errors that the consumer was given in place of records."""
        self._bootstrap = bootstrap
        self._pause_s = pause_s
        self._lock = threading.Lock()
        self._acknowledged = threading.Condition(self._lock)
        self._ending = threading.Event()
        self._ending_reads = threading.Event()
        self._senders = [
            threading.Thread(target=self._send, args=(f"p{number}", kinds[number % len(kinds)]), daemon=True)
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

    def silence_s(self, partition: int, since_s: float) -> float:
        """How long after `since_s` (monotonic) the longest silence of a partition ended (seconds)."""
        with self._lock:
            heard = [when for when, index in self.acknowledged if index == partition and when >= since_s]
        silences = [(later - earlier, later) for earlier, later in pairwise([since_s, *heard])]
        return max(silences)[1] - since_s

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

    def _send(self, name: str, make: Callable[[str, Said], Sender]) -> None:
        sender = make(self._bootstrap, self._said)
        number = 0
        while not self._ending.is_set():
            place = self.places[number % len(self.places)]
            value = f"{name}-{number}".encode()
            if sender.send(place, value, self._told(name, number, place, value)):
                number += 1
            else:
                self.denials += 1
            time.sleep(self._pause_s)
        sender.close()

    def _said(self, line: str) -> None:
        found = refused(line)
        if found is not None:
            self.refusals.append(found)

    def _told(self, name: str, number: int, place: Place, value: bytes) -> Told:
        def told(offset: int | None) -> None:
            now = time.monotonic()
            outcome = Outcome.UNKNOWN if offset is None else Outcome.ACKNOWLEDGED
            with self._acknowledged:
                self.history.sent.append(Sent(name, number, place, value, outcome, offset))
                if offset is not None:
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
            self.errors += [str(error) for message in messages if (error := message.error()) is not None]
        consumer.close()


class Listener(logging.Logger):
    """A logger that keeps the messages of a producer."""

    def __init__(self, said: Said) -> None:
        super().__init__("producer", logging.DEBUG)
        self._said = said

    def handle(self, record: logging.LogRecord) -> None:
        """Hand it on."""
        self._said(record.getMessage())


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
