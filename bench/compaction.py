"""How long a log of 1 GB takes to be compacted, and what clients notice of it."""

from __future__ import annotations

import contextlib
import os
import random
import time
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING

import frames
import peers
from confluent_kafka import Producer
from system import cpu_seconds
from trial import Measure

from kcompat.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from trial import Numbers, Trial

    from support.broker_process import BrokerProcess

BYTES, VALUE_SIZE = 1_000_000_000, 1000
UPDATES_PER_KEY = 5
"""On average: the keys come at random, so that most batches lose some of their records and keep others."""
SEGMENT_BYTES = 100_000_000
BATCH_BYTES = 16_384
"""Default `batch.size` of a Java producer."""
BACKOFF_MS = 20
CALM_S = 4.0
PAUSE_S = 0.001
SETTLE_S = 1.0
"""How long to wait until the process that cleaned has ended, so that its processor time is counted."""
PATIENCE_S = 300
TOPIC, BROKER = 2, 4
SET, DELETE = 0, 1
ALTER_VERSION = 1
NEVER, NOW = "1.0", "0.01"


def compaction(trial: Trial) -> Numbers:
    """Compact a log, while one record at a time is produced to another topic."""
    count, other = trial.count(BYTES) // VALUE_SIZE, f"{trial.label}-other"
    with _cleaner_without_pauses(trial.broker), trial.topic() as topic:
        peers.create_topics(trial.broker, [other], 1)
        peers.await_leaders(trial.broker, other, 1)
        _load(trial.broker, topic, count, trial.count(SEGMENT_BYTES))
        trial.expect_records(topic, 1, count)
        calm = _produce_until(trial.broker, other, _after(CALM_S))
        trial.warm(int(512 * trial.scale))
        cpu, begin = _cpu_seconds(trial.broker.pid), time.perf_counter()
        _configure(trial.broker, TOPIC, topic, {"min.cleanable.dirty.ratio": NOW})
        busy = _produce_until(trial.broker, other, lambda: _is_clean(trial.broker, topic))
        elapsed = time.perf_counter() - begin
        time.sleep(SETTLE_S)
        used = _cpu_seconds(trial.broker.pid) - cpu
        peers.delete_topics(trial.broker, [other])
    return {
        "compaction": elapsed,
        "compaction-cpu": used,
        "compaction-p99": quantiles(busy, n=100)[98] / quantiles(calm, n=100)[98],
    }


@contextlib.contextmanager
def _cleaner_without_pauses(broker: BrokerProcess) -> Iterator[None]:
    """How long a cleaner rests before it looks again is no matter of speed."""
    _configure(broker, BROKER, "", {"log.cleaner.backoff.ms": str(BACKOFF_MS)})
    try:
        yield
    finally:
        _configure(broker, BROKER, "", {"log.cleaner.backoff.ms": None})


def _configure(broker: BrokerProcess, kind: int, name: str, values: dict[str, str | None]) -> None:
    configs = [
        IncrementalAlterConfigsRequest.AlterableConfig(key, DELETE if value is None else SET, value)
        for key, value in values.items()
    ]
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(kind, name, configs)
    with peers.client(broker) as connection:
        answer = connection.call(IncrementalAlterConfigsRequest(resources=[resource]), ALTER_VERSION)
    if answer.responses[0].error_code:
        raise RuntimeError(f"{broker.name} refused {values}: {answer.responses[0].error_message}")


def _load(broker: BrokerProcess, topic: str, count: int, segment_bytes: int) -> None:
    """Produce `count` records under keys at random, the same in every run, to a topic not yet to compact."""
    settings = {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": NEVER,
        "segment.bytes": str(segment_bytes),
    }
    _configure(broker, TOPIC, topic, settings)
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "linger.ms": 50,
            "batch.size": BATCH_BYTES,
            "queue.buffering.max.messages": 100_000,
        }
    )
    choose = random.Random(1).randrange
    value = random.Random(2).randbytes(VALUE_SIZE)
    for _ in range(count):
        key = b"key-%d" % choose(count // UPDATES_PER_KEY)
        while True:
            try:
                producer.produce(topic, value, key)
                break
            except BufferError:
                producer.poll(0.01)
    producer.flush(PATIENCE_S)


def _produce_until(broker: BrokerProcess, topic: str, is_over: Callable[[], bool]) -> list[float]:
    """Seconds that each of many small requests took, one after the other."""
    request = frames.produce_request(topic, 0, records=1, size=100)
    waits = []
    deadline = time.monotonic() + PATIENCE_S
    with peers.client(broker) as connection:
        while not is_over():
            begin = time.perf_counter()
            connection.call(request, frames.PRODUCE_VERSION)
            waits.append(time.perf_counter() - begin)
            time.sleep(PAUSE_S)
            if time.monotonic() > deadline:
                raise RuntimeError(f"{broker.name} has not compacted {topic}")
    return waits


def _after(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


def _is_clean(broker: BrokerProcess, topic: str) -> bool:
    """Whether the broker has noted that it cleaned the topic: the last thing that a cleaner does."""
    with contextlib.suppress(FileNotFoundError):
        return f"{topic} 0 " in (broker.home / "data" / "cleaner-offset-checkpoint").read_text()
    return False


def _cpu_seconds(pid: int) -> float:
    """Processor time of a process, and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    children_user, children_system = map(int, fields[13:15])
    return cpu_seconds(pid) + (children_user + children_system) / os.sysconf("SC_CLK_TCK")


MEASURES = (Measure("compaction", compaction),)
