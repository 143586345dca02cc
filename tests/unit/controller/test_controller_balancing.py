"""When the controller brings leaderships back to the preferred replicas by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.cluster import znodes
from kcompat.controller.values import TopicSpec
from kcompat.store.interface import Create, SetData
from support.controlled_brokers import register
from support.controllers import ControllerFixture, answer

if TYPE_CHECKING:
    from pathlib import Path

INTERVAL_S = 60
SETTINGS = {"leader.imbalance.check.interval.seconds": str(INTERVAL_S)}


async def create(fixture: ControllerFixture) -> None:
    """A partition that broker 2 is preferred for."""
    await answer(fixture.decisions.create_topics([TopicSpec("t", assignments=[(0, [2, 1])])]))


async def lose_and_find_leader(fixture: ControllerFixture) -> None:
    """Broker 2 goes, so that broker 1 leads instead, and comes back into the ISR."""
    await fixture.sessions[2].close()
    await fixture.until(lambda: fixture.broker.image.topics["t"].partitions[0].leader == 1)
    fixture.sessions[2] = await fixture.store.session()
    await register(fixture.sessions[2], 2)
    await fixture.until(lambda: 2 in fixture.broker.image.brokers)
    path = znodes.partition_state_path("t", 0)
    data, _ = await fixture.session.get(path)
    before = znodes.decode_partition_state(data)
    after = znodes.StoredPartitionState(1, before.leader_epoch, before.controller_epoch, (1, 2))
    partitions = b'{"version":1,"partitions":[{"topic":"t","partition":0}]}'
    await fixture.session.multi(
        [
            SetData(path, znodes.encode_partition_state(after)),
            Create(f"{znodes.ISR_CHANGES}/isr_change_", partitions, sequential=True),
        ]
    )
    await fixture.until(lambda: fixture.broker.image.topics["t"].partitions[0].isr == (1, 2))


async def leader_after(fixture: ControllerFixture, ms: int) -> int:
    """Return the leader of t-0 after `ms` milliseconds, when all that was due is decided."""
    fixture.clock.advance(ms)
    await answer(fixture.decisions.allocate_producer_ids())  # decided after what the clock asks for
    return fixture.broker.image.topics["t"].partitions[0].leader


async def test_a_controller_balances_5_seconds_after_its_election_and_at_every_interval(path: Path) -> None:
    async with ControllerFixture(path, SETTINGS, 2) as fixture:
        await create(fixture)
        await lose_and_find_leader(fixture)
        assert await leader_after(fixture, 4999) == 1
        assert await leader_after(fixture, 1) == 2
        for _ in range(2):
            await lose_and_find_leader(fixture)
            assert await leader_after(fixture, INTERVAL_S * 1000 - 1) == 1
            assert await leader_after(fixture, 1) == 2


async def test_the_next_term_begins_with_5_seconds_too(path: Path) -> None:
    async with ControllerFixture(path, SETTINGS, 2) as fixture:
        await create(fixture)
        await leader_after(fixture, 5000)
        await fixture.session.set("/controller_epoch", b"9")
        await answer(fixture.decisions.allocate_producer_ids())
        await fixture.in_office()
        await lose_and_find_leader(fixture)
        assert await leader_after(fixture, 4999) == 1
        assert await leader_after(fixture, 1) == 2


@pytest.mark.parametrize("key", ["auto.leader.rebalance.enable", "leader.imbalance.per.broker.percentage"])
async def test_leaders_stay_where_balancing_is_off_or_others_may_lead(path: Path, key: str) -> None:
    value = {"auto.leader.rebalance.enable": "false", "leader.imbalance.per.broker.percentage": "100"}[key]
    async with ControllerFixture(path, {**SETTINGS, key: value}, 2) as fixture:
        await create(fixture)
        await lose_and_find_leader(fixture)
        assert await leader_after(fixture, 5000) == 1
        assert await leader_after(fixture, INTERVAL_S * 1000) == 1
