"""Disks of one broker among three that become full, or fail, while a producer goes on."""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING

from support.cluster_admin import Administrator
from support.cluster_clients import Producer
from support.cluster_rules import ClusterRules
from support.history import History
from support.recorded_files import memory_directory
from support.virtual_cluster import SETTINGS, VirtualCluster
from support.virtual_loop import run_virtually

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from support.virtual_loop import VirtualLoop

TOPIC = "t"
LAG_S = int(SETTINGS["replica.lag.time.max.ms"]) / 1000
LOOK_EVERY_S = 0.01


class Fixture:
    """Three brokers with two disks each, a topic of two partitions, and a producer for each of them."""

    def __init__(self, cluster: VirtualCluster) -> None:
        self.cluster = cluster
        self.rules = ClusterRules(cluster)
        self.history = History()
        self._work: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        for broker_id in self.cluster.broker_ids:
            self.cluster.start(broker_id)
        await self.cluster.started()
        await Administrator(self.cluster, TOPIC, Random(1)).insist_on(TOPIC, partitions=2)
        for index in range(2):
            producer = Producer(self.cluster, (TOPIC, index), Random(index), self.history, self.rules)
            self._work.append(asyncio.ensure_future(producer.run()))
        await self.passes(1)

    async def passes(self, seconds: float) -> None:
        """Look all the time."""
        end = self.cluster.now_s + seconds
        await self.until(lambda: self.cluster.now_s >= end)

    async def until(self, is_so: Callable[[], bool]) -> float:
        """How many seconds it took."""
        begin = self.cluster.now_s
        while not is_so():
            assert self.cluster.now_s < begin + 60, self.cluster.events[-30:]
            await asyncio.sleep(LOOK_EVERY_S)
            self.rules.check()
            for task in self._work:
                if task.done():
                    task.result()
        return self.cluster.now_s - begin

    async def stop(self) -> None:
        self.rules.check(thoroughly=True)
        assert self.rules.unlike() == []
        for task in self._work:
            task.cancel()
        await self.cluster.close()

    def leader(self, index: int = 0) -> int:
        return self.cluster.store.states[TOPIC, index].leader

    def isr(self, index: int = 0) -> set[int]:
        return set(self.cluster.store.states[TOPIC, index].isr)

    def disk(self, broker_id: int, index: int = 0) -> str:
        """Where a broker has a replica."""
        partition = self.cluster.running[broker_id].parts.storage.replicas.get(TOPIC, index)
        assert partition is not None
        return partition.log.context.path.rpartition("/")[2]

    def acknowledged(self, index: int = 0) -> int:
        return sum(sent.place == (TOPIC, index) for sent in self.history.sent)


def live(story: Callable[[Fixture], Coroutine[object, object, None]]) -> None:
    async def tell(loop: VirtualLoop) -> None:
        with memory_directory() as home:
            fixture = Fixture(VirtualCluster(loop, home, story.__name__, 3, disks=2))
            await fixture.start()
            await story(fixture)
            await fixture.until(lambda: not fixture.rules.unlike())
            await fixture.stop()

    run_virtually(tell)


def test_a_leader_whose_disk_is_full_leads_on_and_goes_on_once_there_is_room() -> None:
    async def story(fixture: Fixture) -> None:
        leader = fixture.leader()
        fixture.cluster.fill_disk(leader, fixture.disk(leader), 100)
        await fixture.passes(1)
        before = fixture.acknowledged()
        await fixture.passes(3 * LAG_S)
        assert fixture.acknowledged() == before
        assert fixture.leader() == leader
        fixture.cluster.mend_disks(leader)
        await fixture.until(lambda: fixture.acknowledged() > before)
        assert fixture.leader() == leader

    live(story)


def test_a_follower_whose_disk_is_full_leaves_the_isr_until_there_is_room() -> None:
    async def story(fixture: Fixture) -> None:
        follower = next(iter(fixture.isr() - {fixture.leader()}))
        fixture.cluster.fill_disk(follower, fixture.disk(follower), 100)
        took = await fixture.until(lambda: follower not in fixture.isr())
        assert LAG_S <= took <= 2 * LAG_S
        before = fixture.acknowledged()
        await fixture.until(lambda: fixture.acknowledged() > before)
        fixture.cluster.mend_disks(follower)
        await fixture.until(lambda: follower in fixture.isr())

    live(story)


def test_a_leader_whose_disk_fails_leads_no_more_and_its_other_disk_serves_on() -> None:
    async def story(fixture: Fixture) -> None:
        leader = fixture.leader()
        lost = fixture.disk(leader)
        fixture.cluster.fail_disk(leader, lost)
        await fixture.until(lambda: fixture.cluster.has_lost_disk(leader))
        assert await fixture.until(lambda: leader not in fixture.isr()) < 0.1
        assert fixture.leader() not in (leader, -1)
        before = fixture.acknowledged()
        await fixture.until(lambda: fixture.acknowledged() > before)
        assert leader in fixture.isr(1)
        fixture.cluster.mend_disks(leader)
        await fixture.passes(3 * LAG_S)
        assert leader not in fixture.isr()
        await fixture.cluster.stop(leader)
        fixture.cluster.start(leader)
        await fixture.cluster.started()
        await fixture.until(lambda: leader in fixture.isr())

    live(story)
