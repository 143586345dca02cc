"""The time from a record to its acknowledgement under an even load, through librdkafka."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from confluent_kafka import Producer
from report import Figure
from system import Stopwatch
from throughput import MEDIUM
from trial import Measure

if TYPE_CHECKING:
    from clusters import ClusterTrial
    from confluent_kafka import KafkaError, Message
    from trial import Numbers

PARTITIONS = 6
SMALL = 200
INTERVAL_S = 0.005
"""Seconds between two bursts, each of which goes to the next partition."""
SECONDS = 5
WARM_S = 1
"""Seconds of load at the beginning that do not count."""


@dataclass
class Deliveries:
    """How long records waited, from `produce` to their acknowledgement."""

    seconds: list[float] = field(default_factory=list)

    def note(self, error: KafkaError | None, record: Message) -> None:
        """Raise RuntimeError for a record that was not taken."""
        if error is not None:
            raise RuntimeError(f"a record was not taken: {error}")
        self.seconds.append(record.latency())

    def quantile_us(self, share: float) -> float:
        """Return the time in µs within which this share of the records was acknowledged."""
        return sorted(self.seconds)[int(len(self.seconds) * share)] * 1e6


def of_200_b(trial: ClusterTrial) -> Numbers:
    """10 MB/s in records of 200 bytes."""
    return _steady(trial, "steady-200b", SMALL, burst=250)


def of_1_kib(trial: ClusterTrial) -> Numbers:
    """20 MB/s in records of 1 KiB."""
    return _steady(trial, "steady-1kib", MEDIUM, burst=100)


def _steady(trial: ClusterTrial, name: str, size: int, *, burst: int) -> Numbers:
    with trial.topic(PARTITIONS) as topic:
        settings = {
            "bootstrap.servers": trial.bootstrap,
            "acks": "all",
            "linger.ms": 0,
            "queue.buffering.max.messages": 1_000_000,  # a virtual machine that is still cold may fall behind
        }
        producer = Producer(settings)
        producer.list_topics(topic, timeout=10)
        trial.warm(512)
        _send(producer, topic, size, burst, WARM_S, Deliveries())
        bursts, found = trial.count(int(SECONDS / INTERVAL_S)), Deliveries()
        with Stopwatch(*trial.pids) as watch:
            _send(producer, topic, size, burst, bursts * INTERVAL_S, found)
        trial.expect_records(topic, PARTITIONS, burst * (bursts + int(WARM_S / INTERVAL_S)))
    return {
        f"{name}-p50": found.quantile_us(0.5),
        f"{name}-p99": found.quantile_us(0.99),
        f"{name}-cpu": watch.cpu / (bursts * burst) * 1e6,
    }


def _send(
    producer: Producer, topic: str, size: int, burst: int, seconds: float, deliveries: Deliveries
) -> None:
    """The last record of each burst is the one that is timed."""
    value = bytes(size)
    others = [{"value": value} for _ in range(burst - 1)]
    began = time.perf_counter()
    for number in range(int(seconds / INTERVAL_S)):
        due = began + number * INTERVAL_S
        while (left := due - time.perf_counter()) > 0:
            producer.poll(left)  # an acknowledgement counts when it is taken
        partition = number % PARTITIONS
        producer.produce_batch(topic, others, partition=partition)
        producer.produce(topic, value, partition=partition, on_delivery=deliveries.note)
    producer.flush(60)


MEASURES = (Measure("steady-200b", of_200_b), Measure("steady-1kib", of_1_kib))
FIGURES = (
    Figure("steady-200b-p50", "50,000 records of 200 B a second, acks=all, p50", "us", "<= 0.8"),
    Figure("steady-200b-p99", "  p99", "us", "<= 0.5"),
    Figure("steady-200b-cpu", "  CPU of the brokers", "s per million", "<= 0.5"),
    Figure("steady-1kib-p50", "20,000 records of 1 KiB a second, acks=all, p50", "us", "<= 0.8"),
    Figure("steady-1kib-p99", "  p99", "us", "<= 0.5"),
    Figure("steady-1kib-cpu", "  CPU of the brokers", "s per million", "<= 0.5"),
)
