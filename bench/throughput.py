"""How much a broker takes and gives: through librdkafka, and raw with requests encoded before."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import frames
import peers
from confluent_kafka import Consumer, Producer, TopicPartition
from system import Stopwatch
from trial import Measure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trial import Numbers, Trial, Work

PARTITIONS = 4
SMALL, MEDIUM = 100, 1024
RECORDS_PER_BIG_BATCH = 950
"""Records of 1 KiB in a batch just below max.message.bytes."""
SMALL_RECORDS_PER_BIG_BATCH = 9_000
"""Records of 100 bytes in a batch just below max.message.bytes."""
RUNS = 5
"""Runs of each trial with big batches, of which the best counts: some hosts of virtual machines put broker
and client on one processor now and then, and then both take turns where else they work side by side."""
PRODUCE_CHUNK = 10_000
FETCH_BYTES = 10_000_000


def librdkafka_produce(
    trial: Work,
    topic: str,
    count: int,
    size: int,
    *,
    acks: int = 1,
    partitions: int = PARTITIONS,
    copies: int = 1,
    settings: Mapping[str, str] = {},
) -> Stopwatch:
    """Produce `count` records of `size` bytes, of which the brokers keep `copies`, and wait for the last
    acknowledgement. `settings` are further ones of the producer.
    """
    all_settings = {
        "bootstrap.servers": trial.bootstrap,
        "acks": acks,
        "linger.ms": 5,
        "batch.size": 1_000_000,
        "queue.buffering.max.messages": 1_000_000,
        "queue.buffering.max.kbytes": 1_048_576,
        **settings,
    }
    producer = Producer(all_settings)
    producer.list_topics(topic, timeout=10)
    chunk = [{"value": bytes(size)} for _ in range(PRODUCE_CHUNK)]
    trial.warm(max(512, count * size * copies * 3 // 2 >> 20))
    with Stopwatch(*trial.pids) as watch:
        for number in range(count // PRODUCE_CHUNK):
            producer.produce_batch(topic, chunk, partition=number % partitions)
            producer.poll(0)
        producer.flush(60)
    return watch


def _librdkafka_consume(trial: Trial, topic: str, count: int) -> Stopwatch:
    """Read `count` records by assignment."""
    settings = {
        "bootstrap.servers": trial.broker.bootstrap,
        "group.id": trial.label,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "queued.min.messages": 1_000_000,  # with less it pauses for a second now and then
        "queued.max.messages.kbytes": 1_048_576,
    }
    consumer = Consumer(settings)
    consumer.list_topics(topic, timeout=10)
    found = 0
    with Stopwatch(trial.broker.pid) as watch:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
        while found < count:
            records = consumer.consume(min(10_000, count - found), timeout=10)
            if not records:
                raise RuntimeError(f"{trial.broker.name} gave {found} of {count} records")
            found += len(records)
    consumer.close()
    return watch


def librdkafka_100_b(trial: Trial) -> Numbers:
    """Records of 100 bytes over four partitions, there and back."""
    count = max(PRODUCE_CHUNK * PARTITIONS, trial.count(1_000_000) // PRODUCE_CHUNK * PRODUCE_CHUNK)
    with trial.topic(PARTITIONS) as topic:
        produced = librdkafka_produce(trial, topic, count, SMALL)
        trial.expect_records(topic, PARTITIONS, count)
        numbers = {
            "produce-100b": count / produced.wall / 1e3,
            "produce-100b-cpu": produced.cpu / count * 1e6,
        }
        consumed = _librdkafka_consume(trial, topic, count)
    return numbers | {"consume-100b": count / consumed.wall / 1e3}


def librdkafka_1_kib(trial: Trial) -> Numbers:
    """Records of 1 KiB over four partitions, there and back."""
    count = max(PRODUCE_CHUNK * PARTITIONS, trial.count(200_000) // PRODUCE_CHUNK * PRODUCE_CHUNK)
    megabytes = count * MEDIUM / 1e6
    with trial.topic(PARTITIONS) as topic:
        produced = librdkafka_produce(trial, topic, count, MEDIUM)
        trial.expect_records(topic, PARTITIONS, count)
        consumed = _librdkafka_consume(trial, topic, count)
    return {
        "produce-1kib": megabytes / produced.wall,
        "produce-1kib-cpu": produced.cpu / megabytes * 1e3,
        "consume-1kib": megabytes / consumed.wall,
        "consume-1kib-cpu": consumed.cpu / megabytes * 1e3,
    }


def librdkafka_produce_only(trial: Trial) -> Numbers:
    """The produce halves of the two above, for the mock cluster, which forgets what it was given."""
    small = max(PRODUCE_CHUNK * PARTITIONS, trial.count(1_000_000) // PRODUCE_CHUNK * PRODUCE_CHUNK)
    medium = max(PRODUCE_CHUNK * PARTITIONS, trial.count(200_000) // PRODUCE_CHUNK * PRODUCE_CHUNK)
    with trial.topic(PARTITIONS) as topic:
        first = librdkafka_produce(trial, topic, small, SMALL)
        second = librdkafka_produce(trial, topic, medium, MEDIUM)
        trial.expect_records(topic, PARTITIONS, small + medium)
    megabytes = medium * MEDIUM / 1e6
    return {
        "produce-100b": small / first.wall / 1e3,
        "produce-100b-cpu": first.cpu / small * 1e6,
        "produce-1kib": megabytes / second.wall,
        "produce-1kib-cpu": second.cpu / megabytes * 1e3,
    }


def small_pipelined(trial: Trial) -> Numbers:
    """One record of 100 bytes a request, 32 requests in flight on one connection."""
    return _small_requests(trial, "small-pipelined", connections=1, depth=32)


def small_parallel(trial: Trial) -> Numbers:
    """One record of 100 bytes a request, 20 connections with one request in flight each."""
    return _small_requests(trial, "small-parallel", connections=20, depth=1)


def _small_requests(trial: Trial, name: str, connections: int, depth: int) -> Numbers:
    count = trial.count(100_000)
    with trial.topic(PARTITIONS) as topic:
        requests = [frames.produce(topic, index, records=1, size=SMALL) for index in range(PARTITIONS)]
        trial.warm(64)
        with Stopwatch(trial.broker.pid) as watch:
            load = trial.generator.run(
                trial.broker.port, requests, connections=connections, depth=depth, count=count
            )
        trial.expect_records(topic, PARTITIONS, count)
    return {name: count / load.seconds / 1e3, f"{name}-cpu": watch.cpu / count * 1e6}


def big_batches(trial: Trial) -> Numbers:
    """Batches of 1 MB, uncompressed records of 1 KiB, two in flight on one connection."""
    return _big_batches(trial, "big-batches", RECORDS_PER_BIG_BATCH, MEDIUM, trial.count(400))


def full_batches(trial: Trial) -> Numbers:
    """Batches of 1 MB, uncompressed records of 100 bytes, two in flight on one connection.

    Where the broker is ours, a second one without the native extension is measured too. The report compares
    both with Kafka.
    """
    count = trial.count(200)
    numbers = _big_batches(trial, "full-batches", SMALL_RECORDS_PER_BIG_BATCH, SMALL, count)
    if not peers.is_kcompat(trial.broker):
        return numbers | {f"{name}-python": value for name, value in numbers.items()}
    with peers.KcompatWithoutExtension(peers.PROPERTIES) as slower:
        found = _big_batches(
            replace(trial, broker=slower), "full-batches", SMALL_RECORDS_PER_BIG_BATCH, SMALL, count // 5 or 1
        )
    return numbers | {f"{name}-python": value for name, value in found.items()}


def _big_batches(trial: Trial, name: str, records: int, size: int, count: int) -> Numbers:
    with trial.topic(PARTITIONS) as topic:
        frame = frames.produce(topic, 0, records=records, size=size)
        runs = []
        for _ in range(RUNS):
            trial.warm(count * len(frame) * 5 // 2 >> 20)
            with Stopwatch(trial.broker.pid) as watch:
                load = trial.generator.run(trial.broker.port, [frame], connections=1, depth=2, count=count)
            runs.append((load.seconds, watch.cpu))
        trial.expect_records(topic, PARTITIONS, RUNS * count * records)
    megabytes = count * len(frame) / 1e6
    seconds, cpu = min(runs)
    return {name: megabytes / seconds, f"{name}-cpu": cpu / megabytes * 1e3}


def raw_fetch(trial: Trial) -> Numbers:
    """Answers of about 10 MB to one connection that asks again and again."""
    count = trial.count(300)
    with trial.topic(1) as topic:
        frame = frames.produce(topic, 0, records=RECORDS_PER_BIG_BATCH, size=MEDIUM)
        trial.generator.run(trial.broker.port, [frame], connections=1, depth=1, count=12)
        request = frames.fetch(topic, 0, FETCH_BYTES)
        with Stopwatch(trial.broker.pid) as watch:
            load = trial.generator.run(trial.broker.port, [request], connections=1, depth=1, count=count)
    if load.smallest < FETCH_BYTES * 0.8:
        raise RuntimeError(f"{trial.broker.name} answered a fetch with {load.smallest} bytes")
    megabytes = load.bytes_received / 1e6
    return {"fetch": megabytes / load.seconds, "fetch-cpu": watch.cpu / megabytes * 1e3}


MEASURES = (
    Measure("librdkafka-100b", librdkafka_100_b),
    Measure("librdkafka-1kib", librdkafka_1_kib),
    Measure("librdkafka-produce", librdkafka_produce_only, on_mock=True, only_mock=True),
    Measure("small-pipelined", small_pipelined, on_mock=True),
    Measure("small-parallel", small_parallel, on_mock=True),
    Measure("big-batches", big_batches, on_mock=True),
    Measure("full-batches", full_batches),
    Measure("fetch", raw_fetch),
)
