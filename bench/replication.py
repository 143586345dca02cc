"""The cost of three replicas of each record, and the rate at which a follower catches up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import frames
from report import Figure
from system import Stopwatch
from throughput import MEDIUM, PRODUCE_CHUNK, RECORDS_PER_BIG_BATCH, librdkafka_produce
from trial import Measure

if TYPE_CHECKING:
    from clusters import ClusterTrial
    from trial import Numbers

PARTITIONS = 6
SMALL = 200
ALL = -1
LEADER, SECOND, THIRD = 1, 2, 3
CONNECTIONS = 20


def produce_200_b(trial: ClusterTrial) -> Numbers:
    """Records of 200 bytes through librdkafka, over partitions that all three brokers lead."""
    count = max(PRODUCE_CHUNK * PARTITIONS, trial.count(1_000_000) // PRODUCE_CHUNK * PRODUCE_CHUNK)
    watch = _produce(trial, count, SMALL)
    return {"replicated-200b": count / watch.wall / 1e3, "replicated-200b-cpu": watch.cpu / count * 1e6}


def produce_1_kib(trial: ClusterTrial) -> Numbers:
    """Records of 1 KiB through librdkafka, over partitions that all three brokers lead."""
    count = max(PRODUCE_CHUNK * PARTITIONS, trial.count(240_000) // PRODUCE_CHUNK * PRODUCE_CHUNK)
    watch = _produce(trial, count, MEDIUM)
    megabytes = count * MEDIUM / 1e6
    return {"replicated-1kib": megabytes / watch.wall, "replicated-1kib-cpu": watch.cpu / megabytes * 1e3}


def _produce(trial: ClusterTrial, count: int, size: int) -> Stopwatch:
    with trial.topic(PARTITIONS) as topic:
        watch = librdkafka_produce(trial, topic, count, size, acks=ALL, partitions=PARTITIONS, copies=3)
        trial.expect_records(topic, PARTITIONS, count)
    return watch


def latency_200_b(trial: ClusterTrial) -> Numbers:
    """One record of 200 bytes at a time."""
    return _one_at_a_time(trial, "replicated-alone-200b", SMALL)


def latency_1_kib(trial: ClusterTrial) -> Numbers:
    """One record of 1 KiB at a time."""
    return _one_at_a_time(trial, "replicated-alone-1kib", MEDIUM)


def _one_at_a_time(trial: ClusterTrial, name: str, size: int) -> Numbers:
    numbers = _requests(trial, name, size, connections=1, count=trial.count(5_000))
    return {key: numbers[key] for key in (f"{name}-p50", f"{name}-p99", f"{name}-cpu")}


def parallel(trial: ClusterTrial) -> Numbers:
    """One record of 200 bytes a request, twenty connections with one request in flight each."""
    name = "replicated-parallel"
    return _requests(trial, name, SMALL, connections=CONNECTIONS, count=trial.count(40_000))


def _requests(trial: ClusterTrial, name: str, size: int, *, connections: int, count: int) -> Numbers:
    """To one leader, which two brokers follow."""
    partitions = min(connections, PARTITIONS)
    placed = [(LEADER, SECOND, THIRD)] * partitions
    with trial.topic(placed=placed) as topic:
        requests = [
            frames.produce(topic, index, records=1, size=size, acks=ALL) for index in range(partitions)
        ]
        trial.warm(64)
        port = trial.cluster.brokers[LEADER].port
        with Stopwatch(*trial.pids) as watch:
            load = trial.generator.run(port, requests, connections=connections, depth=1, count=count)
        trial.expect_records(topic, partitions, count)
    return {
        name: count / load.seconds / 1e3,
        f"{name}-p50": load.p50_us,
        f"{name}-p99": load.p99_us,
        f"{name}-cpu": watch.cpu / count * 1e6,
    }


def catch_up(trial: ClusterTrial) -> Numbers:
    """A broker becomes the third replica of a partition, and has nothing of it yet."""
    with trial.topic(placed=[(LEADER, SECOND)]) as topic:
        frame = frames.produce(topic, 0, records=RECORDS_PER_BIG_BATCH, size=MEDIUM)
        count = max(1, trial.count(trial.behind_mb) * 1_000_000 // len(frame))
        trial.warm(count * len(frame) * 3 >> 20)
        trial.generator.run(trial.cluster.brokers[LEADER].port, [frame], connections=1, depth=2, count=count)
        trial.cluster.wait_until_in_sync()
        trial.warm(count * len(frame) * 3 // 2 >> 20)  # what was ready before has gone to the first two
        with Stopwatch(*trial.pids) as watch:
            trial.cluster.reassign(topic, 0, (LEADER, SECOND, THIRD))
        megabytes = count * len(frame) / 1e6
        held = len(trial.cluster.stored(THIRD, topic, 0)) / 1e6
        if held < megabytes * 0.99:
            raise RuntimeError(f"the new replica holds {held:.0f} of {megabytes:.0f} MB")
    return {"catch-up": megabytes / watch.wall, "catch-up-cpu": watch.cpu / megabytes * 1e3}


MEASURES = (
    Measure("replicated-200b", produce_200_b),
    Measure("replicated-1kib", produce_1_kib),
    Measure("replicated-alone-200b", latency_200_b),
    Measure("replicated-alone-1kib", latency_1_kib),
    Measure("replicated-parallel", parallel),
    Measure("catch-up", catch_up),
)
FIGURES = (
    Figure("replicated-200b", "librdkafka produce, 200 B, acks=all", "k records/s", ">= 1.0"),
    Figure("replicated-200b-cpu", "  CPU of the brokers", "s per million", "<= 0.5"),
    Figure("replicated-1kib", "librdkafka produce, 1 KiB, acks=all", "MB/s", ">= 1.0"),
    Figure("replicated-1kib-cpu", "  CPU of the brokers", "s per GB", "<= 0.5"),
    Figure("replicated-alone-200b-p50", "one 200 B record at a time, acks=all, p50", "us", "<= 0.8"),
    Figure("replicated-alone-200b-p99", "  p99", "us", "<= 0.5"),
    Figure("replicated-alone-200b-cpu", "  CPU of the brokers", "s per million", "<= 0.5"),
    Figure("replicated-alone-1kib-p50", "one 1 KiB record at a time, acks=all, p50", "us", "<= 0.8"),
    Figure("replicated-alone-1kib-p99", "  p99", "us", "<= 0.5"),
    Figure("replicated-alone-1kib-cpu", "  CPU of the brokers", "s per million", "<= 0.5"),
    Figure(
        "replicated-parallel",
        "one 200 B record a request, 20 connections, acks=all",
        "k requests/s",
        ">= 1.0",
    ),
    Figure("replicated-parallel-p50", "  p50", "us", "<= 0.8"),
    Figure("replicated-parallel-p99", "  p99", "us", "<= 0.5"),
    Figure("replicated-parallel-cpu", "  CPU of the brokers", "s per million", "<= 0.5"),
    Figure("catch-up", "a new replica catches up", "MB/s", ">= 2"),
    Figure("catch-up-cpu", "  CPU of the brokers", "s per GB", "<= 0.5"),
)
