"""Latency of Spark's micro-batches from topic to topic, default trigger, records coming one by one.

The query writes each record's own timestamp as the new value, so the difference to the timestamp the sink
gives it is what the record waited in between. One Spark serves all brokers in turn.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import peers
import report
from confluent_kafka import Consumer, Producer, TopicPartition

from support.places import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.broker_process import BrokerProcess

ROUNDS = 2
SECONDS = 25.0
WARM_UP_SECONDS = 5.0
INTERVAL_S = 0.97
"""Longer than a fetch waits (500 ms): were records closer, the next one would end the wait on any broker."""
PATIENCE_S = 20.0


class SparkProcess:
    """The process of `spark_query.py`."""

    def __init__(self, log: Path) -> None:
        if shutil.which("java") is None:
            raise FileNotFoundError("no java on the PATH: install a Java 17 runtime")
        self._log = log.open("wb")
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("spark_query.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            cwd=REPOSITORY,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        )
        self._await("ready")

    def tell(self, answer: str, *words: str) -> None:
        """Send one command and wait for its answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(words) + "\n")
        self._process.stdin.flush()
        self._await(answer)

    def _await(self, answer: str) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.strip() == answer:
                return
        raise RuntimeError(f"Spark ended; see {self._log.name}")

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


def measure(
    directory: Path,
    say: Callable[[str], None],
    results: report.Results,
    *,
    quick: bool,
    with_kafka: bool,
) -> None:
    """Add the figures `spark` and `spark-waiting`."""
    brokers: list[tuple[str, str, BrokerProcess]] = [
        ("spark", report.OURS, peers.kcompat()),
        ("spark-waiting", report.OURS, peers.KcompatWithoutEndedFetches(peers.PROPERTIES)),
    ]
    if with_kafka:
        brokers.append(("spark", report.KAFKA, peers.kafka()))
    with contextlib.ExitStack() as stack:
        for _, _, broker in brokers:
            stack.enter_context(broker)
        say("starting Spark")
        spark = stack.enter_context(contextlib.closing(SparkProcess(directory / "spark.log")))
        for number in range(1 if quick else ROUNDS + 1):
            for figure, peer, broker in brokers:
                say(f"Spark, round {number}: {broker.name}")
                checkpoint = directory / f"checkpoint-{broker.name}-{number}"
                latency = _one_query(spark, broker, checkpoint, f"spark-{number}")
                if number or quick:  # the first round warms Spark itself
                    report.add(results, peer, {figure: latency})


def _one_query(spark: SparkProcess, broker: BrokerProcess, checkpoint: Path, label: str) -> float:
    """Median latency in ms of the records of one query."""
    source, target = f"{label}-in", f"{label}-out"
    peers.create_topics(broker, [source, target], 1)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0})
    producer.produce(source, b"first")
    producer.flush(PATIENCE_S)
    spark.tell("started", "start", broker.bootstrap, source, target, str(checkpoint))
    try:
        sent = _produce_for(producer, source, WARM_UP_SECONDS + SECONDS)
        waits = _latencies(broker, target, sent + 1)
    finally:
        spark.tell("stopped", "stop")
    warm_up = int(WARM_UP_SECONDS / INTERVAL_S)
    return median(waits[warm_up:])


def _produce_for(producer: Producer, topic: str, seconds: float) -> int:
    """Produce one record at a time; how many."""
    count = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        producer.produce(topic, b"x")
        producer.flush(PATIENCE_S)
        count += 1
        time.sleep(INTERVAL_S)
    return count


def _latencies(broker: BrokerProcess, target: str, count: int) -> list[float]:
    """Milliseconds between the two timestamps of each record."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "bench"})
    consumer.assign([TopicPartition(target, 0, 0)])
    waits: list[float] = []
    with contextlib.closing(consumer):
        while len(waits) < count:
            record = consumer.poll(PATIENCE_S)
            if record is None:
                raise RuntimeError(f"Spark wrote {len(waits)} of {count} records to {broker.name}")
            if record.error() is None:
                waits.append(record.timestamp()[1] - int(record.value() or b"0"))
    return waits
