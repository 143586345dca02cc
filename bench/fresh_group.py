"""How long the first member of a fresh group waits for its first record.

Much of that is the client's own. librdkafka waits 100 ms before it asks for an offset where none is
committed, and 50 ms before its first fetch. aiokafka pauses nowhere; nor does the Java consumer, but it takes
its time for threads and connections. (kafka-python pauses too, 100 ms at a time: once in release 3, three
times in 2.0.2.) What the broker alone adds, the bare requests tell.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import group_requests
import peers
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer, Producer
from trial import Measure

from support.kafka_jars import class_path, java

if TYPE_CHECKING:
    from trial import Numbers, Trial

RECORD_SIZE = 100
PATIENCE_S = 30
GROUPS = 10
"""Groups of a trial, where one would say little."""
JAVA_GROUPS = 60
"""A JVM is slow at first: the second half of these counts."""


def librdkafka(trial: Trial) -> Numbers:
    """From making a consumer of a new group to its first record."""
    with trial.topic() as topic:
        _produce_one(trial, topic)
        begin = time.perf_counter()
        consumer = Consumer(
            {
                "bootstrap.servers": trial.broker.bootstrap,
                "group.id": f"{trial.label}-group",
                "auto.offset.reset": "earliest",
            }
        )
        consumer.subscribe([topic])
        if consumer.poll(PATIENCE_S) is None:
            raise RuntimeError(f"{trial.broker.name} gave a fresh group no record")
        elapsed = time.perf_counter() - begin
        consumer.close()
    return {"fresh-group": elapsed * 1e3}


def aiokafka(trial: Trial) -> Numbers:
    """Measure the first record of a fresh group with aiokafka, a client that never pauses."""

    async def first_record(topic: str, group: str) -> float:
        begin = time.perf_counter()
        consumer = AIOKafkaConsumer(
            topic,
            bootstrap_servers=trial.broker.bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
        )
        await consumer.start()
        try:
            await asyncio.wait_for(consumer.getone(), PATIENCE_S)
            return time.perf_counter() - begin
        finally:
            await consumer.stop()

    with trial.topic() as topic:
        _produce_one(trial, topic)
        waits = [
            asyncio.run(first_record(topic, f"{trial.label}-group-{number}"))
            for number in range(trial.count(GROUPS))
        ]
    return {"fresh-group-aiokafka": median(waits) * 1e3}


def java_client(trial: Trial) -> Numbers:
    """Measure the first record of a fresh group with Kafka's client 3.9.2; return nothing without Java."""
    if shutil.which("java") is None:
        return {}
    with trial.topic() as topic:
        _produce_one(trial, topic)
        program = [
            java(),
            "-Xmx256m",
            "-cp",
            class_path("3.9.2"),
            str(Path(__file__).with_name("FreshGroup.java")),
        ]
        groups = trial.count(JAVA_GROUPS)
        arguments = [trial.broker.bootstrap, topic, f"{trial.label}-group", str(groups)]
        done = subprocess.run([*program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{trial.broker.name} and the Java client: {done.stderr}")
    waits = [float(line) for line in done.stdout.splitlines()]
    return {"fresh-group-java": median(waits[groups // 2 :])}


def bare_requests(trial: Trial) -> Numbers:
    """Measure the broker's share: the requests of a client, sent one after the other without a client."""
    with trial.topic() as topic, peers.client(trial.broker) as connection:
        group_requests.await_coordinator(connection, f"{trial.label}-group")
        _produce_one(trial, topic)
        begin = time.perf_counter()
        found = group_requests.first_record(connection, f"{trial.label}-group", topic)
        elapsed = time.perf_counter() - begin
    if not found:
        raise RuntimeError(f"{trial.broker.name} gave a fresh group no record")
    return {"fresh-group-raw": elapsed * 1e3}


def _produce_one(trial: Trial, topic: str) -> None:
    producer = Producer({"bootstrap.servers": trial.broker.bootstrap})
    producer.produce(topic, bytes(RECORD_SIZE))
    producer.flush(PATIENCE_S)


MEASURES = (
    Measure("fresh-group", librdkafka),
    Measure("fresh-group-aiokafka", aiokafka),
    Measure("fresh-group-java", java_client),
    Measure("fresh-group-raw", bare_requests),
)
