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


class World:
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
        partition = self.cluster.running[broker_id].parts.replicas.get(TOPIC, index)
        assert partition is not None
        return partition.log.context.path.rpartition("/")[2]

    def acknowledged(self, index: int = 0) -> int:
        return sum(sent.place == (TOPIC, index) for sent in self.history.sent)


def live(story: Callable[[World], Coroutine[object, object, None]]) -> None:
    async def tell(loop: VirtualLoop) -> None:
        with memory_directory() as home:
            world = World(VirtualCluster(loop, home, story.__name__, 3, disks=2))
            await world.start()
            await story(world)
            await world.until(lambda: not world.rules.unlike())
            await world.stop()

    run_virtually(tell)


def test_a_leader_whose_disk_is_full_leads_on_and_goes_on_once_there_is_room() -> None:
    async def story(world: World) -> None:
        leader = world.leader()
        world.cluster.fill_disk(leader, world.disk(leader), 100)
        await world.passes(1)
        before = world.acknowledged()
        await world.passes(3 * LAG_S)
        assert world.acknowledged() == before
        assert world.leader() == leader
        world.cluster.mend_disks(leader)
        await world.until(lambda: world.acknowledged() > before)
        assert world.leader() == leader

    live(story)


def test_a_follower_whose_disk_is_full_leaves_the_isr_until_there_is_room() -> None:
    async def story(world: World) -> None:
        follower = next(iter(world.isr() - {world.leader()}))
        world.cluster.fill_disk(follower, world.disk(follower), 100)
        took = await world.until(lambda: follower not in world.isr())
        assert LAG_S <= took <= 2 * LAG_S
        before = world.acknowledged()
        await world.until(lambda: world.acknowledged() > before)
        world.cluster.mend_disks(follower)
        await world.until(lambda: follower in world.isr())

    live(story)


def test_a_leader_whose_disk_fails_leads_no_more_and_its_other_disk_serves_on() -> None:
    async def story(world: World) -> None:
        leader = world.leader()
        lost = world.disk(leader)
        world.cluster.fail_disk(leader, lost)
        await world.until(lambda: world.cluster.has_lost_disk(leader))
        assert await world.until(lambda: leader not in world.isr()) < 0.1
        assert world.leader() not in (leader, -1)
        before = world.acknowledged()
        await world.until(lambda: world.acknowledged() > before)
        assert leader in world.isr(1)
        world.cluster.mend_disks(leader)
        await world.passes(3 * LAG_S)
        assert leader not in world.isr()
        await world.cluster.stop(leader)
        world.cluster.start(leader)
        await world.cluster.started()
        await world.until(lambda: leader in world.isr())

    live(story)
