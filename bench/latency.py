"""How long a client waits."""

from __future__ import annotations

import time
from statistics import quantiles
from typing import TYPE_CHECKING

import frames
import peers
from confluent_kafka import Consumer, Producer, TopicPartition
from trial import Measure

if TYPE_CHECKING:
    from trial import Numbers, Trial

RECORD_SIZE = 100
TOPICS, PARTITIONS_PER_TOPIC = 50, 10
PATIENCE_S = 30


def acks_1(trial: Trial) -> Numbers:
    """One record a request, one request at a time, acks=1."""
    return _one_at_a_time(trial, "acks-1", acks=1)


def acks_all(trial: Trial) -> Numbers:
    """One record a request, one request at a time, acks=all."""
    return _one_at_a_time(trial, "acks-all", acks=-1)


def _one_at_a_time(trial: Trial, name: str, acks: int) -> Numbers:
    with trial.topic() as topic:
        request = frames.produce(topic, 0, records=1, size=RECORD_SIZE, acks=acks)
        load = trial.generator.run(
            trial.broker.port, [request], connections=1, depth=1, count=trial.count(20_000)
        )
    return {f"{name}-p50": load.p50_us, f"{name}-p99": load.p99_us}


def produce_to_consume(trial: Trial) -> Numbers:
    """From produce() to the record in the hands of a waiting consumer, librdkafka on both ends."""
    settings = {"bootstrap.servers": trial.broker.bootstrap}
    with trial.topic() as topic:
        consumer = Consumer({**settings, "group.id": trial.label, "enable.auto.commit": False})
        consumer.assign([TopicPartition(topic, 0, 0)])
        producer = Producer({**settings, "acks": 1, "linger.ms": 0})
        waits = []
        for number in range(50 + trial.count(2_000)):
            begin = time.perf_counter()
            producer.produce(topic, bytes(RECORD_SIZE), partition=0)
            if consumer.poll(PATIENCE_S) is None:
                raise RuntimeError(f"{trial.broker.name} did not deliver a record")
            if number >= 50:  # the first ones meet connections that are still being opened
                waits.append((time.perf_counter() - begin) * 1e6)
            producer.poll(0)
        consumer.close()
    return {"end-to-end-p50": _percentile(waits, 50), "end-to-end-p99": _percentile(waits, 99)}


def _percentile(values: list[float], percent: int) -> float:
    return values[0] if len(values) == 1 else quantiles(values, n=100)[percent - 1]


def create_partitions(trial: Trial) -> Numbers:
    """500 partitions with one request."""
    names = [f"{trial.label}-{number}" for number in range(TOPICS)]
    begin = time.perf_counter()
    peers.create_topics(trial.broker, names, PARTITIONS_PER_TOPIC)
    elapsed = time.perf_counter() - begin
    peers.delete_topics(trial.broker, names)
    return {"create-500": elapsed * 1e3}


MEASURES = (
    Measure("acks-1", acks_1, on_mock=True),
    Measure("acks-all", acks_all, on_mock=True),
    Measure("end-to-end", produce_to_consume),
    Measure("create", create_partitions),
)
