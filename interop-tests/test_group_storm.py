"""Groups of each kind whose members are killed all the time, and whose coordinators are: never has a
partition two owners, and no commit goes back.

`KCOMPAT_MEMBERS=200` has so many members in each group, `KCOMPAT_STORM_S=300` lasts so long.
"""

from __future__ import annotations

import asyncio
import os
from random import Random
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from accidents import PATIENCE_S, Brokers, one_broker, three_brokers
from storming import SESSION_MS, TIMES, Custody, Reached, Storm, coordinator_of
from support.cluster_members import ClassicMember, ConsumerMember
from support.cluster_readers import ReaderGroup
from support.eventually import limit_s

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.thorough("test_groups_in_a_cluster.py and the simulation kill coordinators")

MEMBERS = int(os.environ.get("KCOMPAT_MEMBERS", "40"))
LASTS_S = float(os.environ.get("KCOMPAT_STORM_S", "20"))
PARTITIONS = MEMBERS // 4
KILL_EVERY_S = 2
KILL_COORDINATOR_EVERY_S = 30
GROUPS = {
    "classic": [ClassicMember],
    "consumer": [ConsumerMember],
    "mixed": [ClassicMember, ConsumerMember],
}
SETTINGS = {
    "offsets.topic.num.partitions": "5",
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.min.session.timeout.ms": str(SESSION_MS),
    "group.consumer.session.timeout.ms": str(SESSION_MS),
    "group.consumer.min.heartbeat.interval.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "1000",
}
KINDS = {1: one_broker, 3: three_brokers}


@pytest.fixture(params=KINDS)
def brokers(request: pytest.FixtureRequest) -> Iterator[Brokers]:
    """One broker, or three over a ZooKeeper."""
    with KINDS[request.param](SETTINGS) as running:
        yield running


@pytest.mark.timeout(2 * LASTS_S + 4 * PATIENCE_S)
def test_no_partition_has_two_owners_and_no_commit_goes_back(brokers: Brokers) -> None:
    reached = Reached(brokers.addresses)
    reached.finalize("group.version", 1)
    admin = AdminClient({"bootstrap.servers": brokers.bootstrap})
    admin.create_topics([NewTopic("t", PARTITIONS)])["t"].result(limit_s(PATIENCE_S))
    asyncio.run(storm(brokers, reached))


async def storm(brokers: Brokers, reached: Reached) -> None:
    """Rage, and see that all settles."""
    custody = Custody({})
    async with asyncio.TaskGroup() as tasks:
        storms = [
            Storm(reached, ReaderGroup(name, "t", custody, TIMES), kinds, MEMBERS, tasks)
            for name, kinds in GROUPS.items()
        ]
        for each in storms:
            await each.settled(PARTITIONS)
        raging = [tasks.create_task(each.rage(KILL_EVERY_S)) for each in storms]
        killing = tasks.create_task(kill_coordinators(brokers, reached))
        await asyncio.sleep(LASTS_S / 2)
        await storms[-1].turn(ClassicMember)
        await asyncio.sleep(LASTS_S / 2)
        for task in raging:
            task.cancel()
        killed = await killing
        for each in storms:
            await each.settled(PARTITIONS)
            print(f"\n{each.group.name}: {each.killed} members were killed, {each.generations} generations")
            await each.end()
        print(f"{killed} coordinators were killed")


async def kill_coordinators(brokers: Brokers, reached: Reached) -> int:
    """Kill them for as long as the storm lasts; how many were."""
    choice, end_s, killed = Random(12), reached.now_s + LASTS_S, 0
    while (begin_s := reached.now_s) < end_s:
        await asyncio.sleep(LASTS_S / 10)
        broker_id = await coordinator_of(reached, choice.choice(sorted(GROUPS)))
        await asyncio.to_thread(brokers.restart, broker_id)
        killed += 1
        await asyncio.sleep(max(0, begin_s + KILL_COORDINATOR_EVERY_S - reached.now_s))
    return killed
