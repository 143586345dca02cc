"""Committed offsets: how many commits a second, and how long a broker takes to load a million of them.

Nobody is a member of these groups: who commits assigns partitions to itself.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import group_requests
import peers
from report import Figure
from system import Stopwatch, cpu_seconds_ever
from trial import Measure

from kcompat.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kcompat.protocol.messages.offset_fetch import OffsetFetchRequest
from support.ports import free_port
from support.raw_client import request_frame

if TYPE_CHECKING:
    from trial import Numbers, Trial

    from support.broker_process import BrokerProcess

CONNECTIONS = 20
COMMITS = 40_000
WARM = 2_000
GROUPS, PARTITIONS = 10_000, 100
"""A million offsets, in one partition of `__consumer_offsets`."""
TOPIC = "offsets"
PROPERTIES = peers.PROPERTIES | {"offsets.topic.num.partitions": "1"}
COMMIT_VERSION, FETCH_VERSION = 7, 5
PATIENCE_S = 120


def commits(trial: Trial) -> Numbers:
    """Twenty connections, each of which commits one offset of a group of its own, one request at a time."""
    count = trial.count(COMMITS)
    groups = [f"{trial.label}-{number}" for number in range(CONNECTIONS)]
    with trial.topic() as topic:
        with peers.client(trial.broker) as client:
            for group in groups:
                group_requests.await_coordinator(client, group)
                _check(client.call(_commit(group, topic, 1), COMMIT_VERSION))
        frames = [request_frame(_commit(group, topic, 1), COMMIT_VERSION, 1, "bench") for group in groups]

        def commit(times: int) -> float:
            return trial.generator.run(
                trial.broker.port, frames, connections=CONNECTIONS, depth=1, count=times
            ).seconds

        commit(trial.count(WARM))
        with Stopwatch(*trial.pids) as stopwatch:
            seconds = commit(count)
    return {"offset-commits": count / seconds / 1e3, "offset-commits-cpu": stopwatch.cpu / count * 1e6}


def load(trial: Trial) -> Numbers:
    """A broker of its own, started with a million offsets and with a hundred: how much longer it takes."""
    groups = trial.count(GROUPS)
    broker = type(trial.broker)(properties=PROPERTIES, port=free_port())
    try:
        broker.start(PATIENCE_S)
        peers.create_topics(broker, [TOPIC], PARTITIONS)
        peers.await_leaders(broker, TOPIC, PARTITIONS)
        _fill(broker, 1)
        broker.stop()
        without = _start(broker, 1)
        _fill(broker, groups)
        broker.stop()
        loaded = _start(broker, groups)
    finally:
        broker.close()
    return {"offsets-load": loaded[0] - without[0], "offsets-load-cpu": loaded[1] - without[1]}


def _fill(broker: BrokerProcess, groups: int) -> None:
    """Over several connections, as Kafka takes milliseconds for each commit."""
    with ExitStack() as stack:
        clients = [stack.enter_context(peers.client(broker)) for _ in range(CONNECTIONS)]
        group_requests.await_coordinator(clients[0], _name(0))
        for first in range(0, groups, CONNECTIONS):
            asked = clients[: groups - first]
            for number, client in enumerate(asked, first):
                client.send(_commit(_name(number), TOPIC, PARTITIONS), COMMIT_VERSION)
            for client in asked:
                _check(client.receive(OffsetCommitRequest, COMMIT_VERSION))


def _start(broker: BrokerProcess, groups: int) -> tuple[float, float]:
    """Wall and processor time in ms, from the start of the process until it tells what the last group has."""
    begin = time.perf_counter()
    broker.start(PATIENCE_S)
    asked = OffsetFetchRequest(group_id=_name(groups - 1), topics=None)
    with peers.client(broker) as client:
        while (answer := client.call(asked, FETCH_VERSION)).error_code in group_requests.NOT_YET:
            if time.perf_counter() > begin + PATIENCE_S:
                raise RuntimeError(f"{broker.name} does not load its offsets")
            time.sleep(0.005)
    found = sum(len(topic.partitions) for topic in answer.topics)
    if found != PARTITIONS:
        raise RuntimeError(f"{broker.name} has {found} offsets of the last group instead of {PARTITIONS}")
    return (time.perf_counter() - begin) * 1e3, cpu_seconds_ever(broker.pid) * 1e3


def _name(number: int) -> str:
    return f"{TOPIC}-{number}"


def _commit(group: str, topic: str, partitions: int) -> OffsetCommitRequest:
    """A commit of the first so many partitions of a topic."""
    rows = [
        OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=index, committed_offset=1)
        for index in range(partitions)
    ]
    asked = OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, partitions=rows)
    return OffsetCommitRequest(group_id=group, topics=[asked])


def _check(answer: OffsetCommitResponse) -> None:
    errors = {row.error_code for topic in answer.topics for row in topic.partitions}
    if errors != {0}:
        raise RuntimeError(f"a commit was answered with errors {errors}")


FIGURES = (
    Figure("offset-commits", "offset commits over 20 connections", "k/s", ">= 1.5"),
    Figure("offset-commits-cpu", "  broker CPU", "us each", "<= 0.5"),
    Figure("offsets-load", "loading a million committed offsets", "ms", "<= 0.5"),
    Figure("offsets-load-cpu", "  broker CPU", "ms", "<= 0.5"),
)
MEASURES = (Measure("offset-commits", commits), Measure("offsets-load", load))
