"""Brokers of a cluster that stop, several at once or without the store: how long it takes them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from support.cluster_admin import Administrator
from support.virtual_cluster import SETTINGS, VirtualCluster
from support.virtual_loop import run_virtually

if TYPE_CHECKING:
    from pathlib import Path

    from support.virtual_loop import VirtualLoop

PAUSE_S = int(SETTINGS["controlled.shutdown.retry.backoff.ms"]) / 1000
SETTLED_S = 1.0

Story = "Callable[[VirtualCluster], Coroutine[None, None, None]]"


def tell(home: Path, story: Story) -> float:
    """How long a story takes (s); it begins with a topic, of whose partitions each broker leads one."""

    async def program(loop: VirtualLoop) -> float:
        cluster = VirtualCluster(loop, home, "departures", 3)
        for broker_id in cluster.broker_ids:
            cluster.start(broker_id)
        await cluster.started()
        admin = Administrator(cluster, "t", cluster.random)
        assert await admin.make("t", partitions=3)
        await asyncio.sleep(SETTLED_S)
        assert {(state.leader, len(state.isr)) for state in cluster.store.states.values()} == {
            (broker_id, 3) for broker_id in cluster.broker_ids
        }
        began_s = loop.time()
        await story(cluster)
        took_s = loop.time() - began_s
        cluster.heal()
        await cluster.close()
        return took_s

    home.mkdir()
    return run_virtually(program)


async def stop_all(cluster: VirtualCluster) -> None:
    await asyncio.gather(*map(cluster.stop, cluster.broker_ids))


async def stop_two(cluster: VirtualCluster) -> None:
    await asyncio.gather(*map(cluster.stop, cluster.broker_ids[1:]))


async def stop_without_peers_and_store(cluster: VirtualCluster) -> None:
    cluster.isolate(2)
    await cluster.stop(2)


async def stop_without_store(cluster: VirtualCluster) -> None:
    cluster.cut_from_store(2)
    await cluster.stop(2)


@pytest.mark.parametrize("story", [stop_all, stop_two])
def test_brokers_that_stop_at_once_sit_out_no_pause(tmp_path: Path, story: Story) -> None:
    assert tell(tmp_path / "d", story) < PAUSE_S


@pytest.mark.parametrize("story", [stop_without_peers_and_store, stop_without_store])
def test_a_broker_without_the_store_stops_after_a_pause_at_most(tmp_path: Path, story: Story) -> None:
    assert tell(tmp_path / "d", story) < PAUSE_S + 0.1
