"""Whatever groups and transactions do: a coordinator that loads its log has what the live one has, at any
moment, and whatever the cleaner has taken out of the log by then.

`KCOMPAT_MOMENTS` says how often that is looked at, `KCOMPAT_FIRST_SEED` what chance brings about.
"""

from __future__ import annotations

import asyncio
import os
from random import Random
from typing import TYPE_CHECKING

import pytest

from kcompat.group.kinds.classic.group import ClassicGroup
from kcompat.group.kinds.consumer.group import ConsumerGroup
from kcompat.group.kinds.share.group import ShareGroup
from kcompat.group.kinds.streams.group import StreamsGroup
from kcompat.records.batch import iter_headers
from kcompat.topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from support.cluster_admin import Administrator
from support.cluster_clients import Producer
from support.cluster_copiers import COPIES, MIXED, STREAMS, Company
from support.cluster_rules import ClusterRules, log_bytes
from support.cluster_sharers import SHARERS
from support.history import History
from support.recorded_files import memory_directory
from support.virtual_cluster import SETTINGS, VirtualCluster
from support.virtual_loop import run_virtually

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.group.base import Group
    from support.virtual_loop import VirtualLoop

SEED = os.environ.get("KCOMPAT_FIRST_SEED", "0")
MOMENTS = int(os.environ.get("KCOMPAT_MOMENTS", "1000"))
pytestmark = pytest.mark.timeout(120 + MOMENTS // 5)
KILLED_EVERY = 40
TOPIC, PARTITIONS = "stable", 2
COORDINATED = {CONSUMER_OFFSETS, TRANSACTION_STATE}
ALONE = {
    **SETTINGS,
    "default.replication.factor": "1",
    "min.insync.replicas": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "log.cleaner.enable": "true",
    "log.cleaner.backoff.ms": "200",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.cleaner.delete.retention.ms": "1000",
    "offsets.topic.segment.bytes": "2000",
    "transaction.state.log.segment.bytes": "2000",
}


class Replays:
    """One broker, whose coordinators' logs are replayed at random moments."""

    def __init__(self, loop: VirtualLoop, home: Path) -> None:
        self.random = Random(f"{SEED} moments")
        self.cluster = VirtualCluster(loop, home, SEED, 1, ALONE)
        self.rules = ClusterRules(self.cluster)
        self.compacted: set[str] = set()
        """Topics of which the cleaner has taken something out."""
        self.kinds: set[str] = set()
        """Kinds of the groups that were replayed."""

    async def run(self) -> None:
        """Have clients work, and look now and then."""
        cluster = self.cluster
        cluster.start(1)
        await cluster.started()
        admin = Administrator(cluster, TOPIC, Random(f"{SEED} admin"))
        await admin.insist_on_features()
        await admin.insist_on_earliest(SHARERS)
        for name in (TOPIC, COPIES):
            await admin.insist_on(name, partitions=PARTITIONS)
        company = Company(cluster, TOPIC, SEED, [STREAMS, MIXED])
        producers = [
            Producer(cluster, (TOPIC, index), Random(f"{SEED} {index}"), History([], [], {}), self.rules)
            for index in range(PARTITIONS)
        ]
        tasks = [asyncio.ensure_future(each) for each in company.work()]
        tasks += [asyncio.ensure_future(producer.run()) for producer in producers]
        for moment in range(MOMENTS):
            await asyncio.sleep(self.random.expovariate(10))
            self._look()
            for task in tasks:
                assert not task.done(), task
            if moment % KILLED_EVERY == KILLED_EVERY - 1:
                cluster.kill(1)
                cluster.start(1)
                await cluster.started()
        for task in tasks:
            task.cancel()
        company.stop()
        await cluster.close()

    def _look(self) -> None:
        """Replay, and see where something is missing by now."""
        self.rules.coordinators.check_replay()
        for node in self.cluster.running.values():
            shards = [shard for _, shard in node.parts.coordinators.groups.runtime.active()]
            for shard in shards:
                self.kinds.update(*map(kinds_of, shard.groups.values()))
        for node in self.cluster.running.values():
            for partition in node.parts.storage.replicas:
                if partition.topic in COORDINATED and partition.topic not in self.compacted:
                    view = memoryview(log_bytes(partition.log))
                    count = sum(header.record_count for _, header in iter_headers(view))
                    if count < partition.log.log_end_offset:
                        self.compacted.add(partition.topic)


def kinds_of(group: Group) -> set[str]:
    """A consumer group is also a mixed one while it has classic members."""
    if isinstance(group, ClassicGroup):
        return {"classic"}
    if isinstance(group, ShareGroup):
        return {"share"}
    if isinstance(group, StreamsGroup):
        return {"streams"}
    assert isinstance(group, ConsumerGroup)
    is_mixed = any(each.classic for each in group.members.latest.values())
    return {"consumer", "mixed"} if is_mixed else {"consumer"}


def test_at_any_moment_a_replay_gives_what_the_coordinators_have() -> None:
    async def program(loop: VirtualLoop) -> Replays:
        with memory_directory() as home:
            (home / "story").mkdir()
            replays = Replays(loop, home / "story")
            await replays.run()
            return replays

    told = run_virtually(program)
    assert told.compacted == COORDINATED
    assert told.kinds == {"classic", "consumer", "mixed", "share", "streams"}
