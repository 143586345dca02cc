"""When the controller brings leaderships back to the preferred replicas by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.cluster import znodes
from kcompat.controller.values import TopicSpec
from kcompat.store.interface import Create, SetData
from support.controller_world import ControllerWorld, answer, register

if TYPE_CHECKING:
    from pathlib import Path

INTERVAL_S = 60
SETTINGS = {"leader.imbalance.check.interval.seconds": str(INTERVAL_S)}


async def create(world: ControllerWorld) -> None:
    """A partition that broker 2 is preferred for."""
    await answer(world.decisions.create_topics([TopicSpec("t", assignments=[(0, [2, 1])])]))


async def lose_and_find_leader(world: ControllerWorld) -> None:
    """Broker 2 goes, so that broker 1 leads instead, and comes back into the ISR."""
    await world.sessions[2].close()
    await world.until(lambda: world.broker.image.topics["t"].partitions[0].leader == 1)
    world.sessions[2] = await world.store.session()
    await register(world.sessions[2], 2)
    await world.until(lambda: 2 in world.broker.image.brokers)
    path = znodes.partition_state_path("t", 0)
    data, _ = await world.session.get(path)
    before = znodes.decode_partition_state(data)
    after = znodes.PartitionState(1, before.leader_epoch, before.controller_epoch, (1, 2))
    partitions = b'{"version":1,"partitions":[{"topic":"t","partition":0}]}'
    await world.session.multi(
        [
            SetData(path, znodes.encode_partition_state(after)),
            Create(f"{znodes.ISR_CHANGES}/isr_change_", partitions, sequential=True),
        ]
    )
    await world.until(lambda: world.broker.image.topics["t"].partitions[0].isr == (1, 2))


async def leader_after(world: ControllerWorld, ms: int) -> int:
    """Who leads when this time has passed and the controller has done what came of it."""
    world.clock.advance(ms)
    await answer(world.decisions.allocate_producer_ids())  # decided after what the clock asks for
    return world.broker.image.topics["t"].partitions[0].leader


async def test_a_controller_balances_5_seconds_after_its_election_and_at_every_interval(path: Path) -> None:
    async with ControllerWorld(path, SETTINGS, 2) as world:
        await create(world)
        await lose_and_find_leader(world)
        assert await leader_after(world, 4999) == 1
        assert await leader_after(world, 1) == 2
        for _ in range(2):
            await lose_and_find_leader(world)
            assert await leader_after(world, INTERVAL_S * 1000 - 1) == 1
            assert await leader_after(world, 1) == 2


async def test_the_next_term_begins_with_5_seconds_too(path: Path) -> None:
    async with ControllerWorld(path, SETTINGS, 2) as world:
        await create(world)
        await leader_after(world, 5000)
        await world.session.set("/controller_epoch", b"9")
        await answer(world.decisions.allocate_producer_ids())
        await world.in_office()
        await lose_and_find_leader(world)
        assert await leader_after(world, 4999) == 1
        assert await leader_after(world, 1) == 2


@pytest.mark.parametrize("key", ["auto.leader.rebalance.enable", "leader.imbalance.per.broker.percentage"])
async def test_leaders_stay_where_balancing_is_off_or_others_may_lead(path: Path, key: str) -> None:
    value = {"auto.leader.rebalance.enable": "false", "leader.imbalance.per.broker.percentage": "100"}[key]
    async with ControllerWorld(path, {**SETTINGS, key: value}, 2) as world:
        await create(world)
        await lose_and_find_leader(world)
        assert await leader_after(world, 5000) == 1
        assert await leader_after(world, INTERVAL_S * 1000) == 1
