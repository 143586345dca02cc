"""A cluster with 1,000 partitions of three replicas: made, at rest, and when a broker is killed."""

from __future__ import annotations

import contextlib
import time
from statistics import fmean
from typing import TYPE_CHECKING, Any

import frames
import peers
from clusters import BROKERS, PATIENCE_S
from kazoo.client import KazooClient
from report import Figure
from system import Stopwatch, resident_mb
from trial import Measure

from kcompat.cluster.znodes import broker_path
from kcompat.protocol.messages.produce import ProduceRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusters import ClusterTrial
    from trial import Numbers

PARTITIONS = 1_000
RECORD_SIZE = 100
ALL = -1
SETTLE_S = 3.0
IDLE_S = 5.0
RETRY_S = 0.02
REQUESTS = 300


def at_rest(trial: ClusterTrial) -> Numbers:
    """Processor time and memory of a broker while there is next to nothing."""
    return _idle(trial, "cluster")


def many_partitions(trial: ClusterTrial) -> Numbers:
    """Create them, let them rest, kill a broker, and start it again."""
    topic, partitions = f"{trial.label}-topic", trial.count(PARTITIONS)
    controller = trial.controller
    begin = time.perf_counter()
    with Stopwatch(*trial.pids) as watch:
        peers.create_topics(controller, [topic], partitions, replication_factor=BROKERS)
        trial.cluster.wait_until_in_sync(PATIENCE_S)
    whole = time.perf_counter() - begin
    try:
        _write_everywhere(trial, topic, partitions)
        written = time.perf_counter() - begin
        numbers = {
            "create-1000": whole * 1e3,
            "create-1000-cpu": watch.cpu * 1e3,
            "create-1000-written": written * 1e3,
        }
        return numbers | _one_at_a_time(trial, topic) | _idle(trial, "partitions") | _failover(trial, topic)
    finally:
        trial.delete(topic)


def _idle(trial: ClusterTrial, name: str) -> Numbers:
    """Measure the processor time and memory of a broker at rest, averaged over the brokers."""
    time.sleep(SETTLE_S)
    with Stopwatch(*trial.pids) as watch:
        time.sleep(IDLE_S)
    return {
        f"{name}-idle-cpu": watch.cpu / watch.wall / BROKERS * 100,
        f"{name}-memory": fmean(map(resident_mb, trial.pids)),
    }


def _write_everywhere(trial: ClusterTrial, topic: str, partitions: int) -> None:
    """Have a record acknowledged in every partition by all its replicas."""
    left = set(range(partitions))
    deadline = time.monotonic() + PATIENCE_S
    while left:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{len(left)} partitions of {topic} take no record")
        for broker_id, indexes in _led(trial, topic, left).items():
            request = _produce_request(topic, indexes)
            with trial.cluster.client(broker_id) as client:
                answer = client.call(request, frames.PRODUCE_VERSION)
            rows = answer.responses[0].partition_responses
            left -= {row.index for row in rows if not row.error_code}
        if left:
            time.sleep(RETRY_S)


def _led(trial: ClusterTrial, topic: str, indexes: set[int]) -> dict[int, list[int]]:
    """Which of these partitions each broker leads."""
    found: dict[int, list[int]] = {}
    for row in trial.cluster.metadata().topics:
        for part in row.partitions:
            if row.name == topic and part.partition_index in indexes and part.leader_id >= 0:
                found.setdefault(part.leader_id, []).append(part.partition_index)
    return found


def _one_at_a_time(trial: ClusterTrial, topic: str) -> Numbers:
    """Followers ask for all partitions of a leader, so each costs something even where nothing happens."""
    leader = trial.cluster.brokers[trial.cluster.leader_of(topic, 0)]
    frame = frames.produce(topic, 0, records=1, size=RECORD_SIZE, acks=ALL)
    with Stopwatch(*trial.pids) as watch:
        load = trial.generator.run(leader.port, [frame], connections=1, depth=1, count=REQUESTS)
    return {"partitions-alone-p50": load.p50_us, "partitions-alone-cpu": watch.cpu / REQUESTS * 1e6}


def _produce_request(topic: str, indexes: list[int]) -> ProduceRequest:
    """One record for each partition."""
    first = frames.produce_request(topic, 0, records=1, size=RECORD_SIZE, acks=ALL)
    (row,) = first.topic_data[0].partition_data
    kind = ProduceRequest.PartitionProduceData
    first.topic_data[0].partition_data = [kind(index=index, records=row.records) for index in indexes]
    return first


def _failover(trial: ClusterTrial, topic: str) -> Numbers:
    """Kill a broker that is not the controller; others lead what it led."""
    cluster = trial.cluster
    killed = next(
        broker_id for broker_id, broker in cluster.brokers.items() if broker is not trial.controller
    )

    def is_led(shown: Any) -> bool:
        return all(
            part.leader_id not in (-1, killed)
            for row in shown.topics
            if row.name == topic
            for part in row.partitions
        )

    with _registration(trial, killed) as ends:
        begin = time.monotonic()
        cluster.brokers[killed].kill()
        cluster.wait(is_led, PATIENCE_S)
        end = time.monotonic()
    since = ends[0] if ends else begin
    cluster.restart(killed)
    cluster.wait_until_in_sync(PATIENCE_S)
    return {"failover": (end - begin) * 1e3, "failover-detected": (end - since) * 1e3}


@contextlib.contextmanager
def _registration(trial: ClusterTrial, broker_id: int) -> Iterator[list[float]]:
    """When (monotonic seconds) the broker's registration with ZooKeeper ended, once it has."""
    ends: list[float] = []
    client = KazooClient(trial.cluster.zookeeper.bootstrap)
    client.start()
    client.exists(broker_path(broker_id), watch=lambda _: ends.append(time.monotonic()))
    try:
        yield ends
    finally:
        client.stop()
        client.close()


FIRST = (Measure("cluster-at-rest", at_rest),)
LAST = (Measure("many-partitions", many_partitions),)
FIGURES = (
    Figure("cluster-idle-cpu", "processor time at rest, of a broker", "% of a core", "<= 3 %"),
    Figure("cluster-memory", "memory at rest, of a broker", "MB"),
    Figure("create-1000", "create 1,000 partitions of 3 replicas, all led and in sync", "ms", "<= 1.0"),
    Figure("create-1000-cpu", "  CPU of the brokers", "ms"),
    Figure("create-1000-written", "  until each has acknowledged a record, acks=all", "ms"),
    Figure("partitions-alone-p50", "  one 100 B record at a time, acks=all, p50", "us"),
    Figure("partitions-alone-cpu", "    CPU of the brokers", "s per million"),
    Figure("partitions-idle-cpu", "  processor time at rest, of a broker", "% of a core", "<= 3 %"),
    Figure("partitions-memory", "  memory, of a broker", "MB"),
    Figure("failover", "  a broker killed, until others lead all", "ms"),
    Figure("failover-detected", "    since its death is known", "ms", "<= 2000 ms"),
)
