"""Lost leaders and followers that fall behind, for one partition of a cluster."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from kcompat.errors import UsageError
from kcompat.instrumentation.faults.interventions import interventions, note
from kcompat.instrumentation.faults.requests import request_faults
from kcompat.peer.client_ids import client_id_of_fetcher
from kcompat.protocol.constants import NO_LEADER, UNKNOWN_OFFSET
from kcompat.replication.isr import Committed
from kcompat.replication.leading.leader import Leader

if TYPE_CHECKING:
    from collections.abc import Collection

    from kcompat.instrumentation.faults.interventions import Intervention
    from kcompat.instrumentation.faults.request_fault import RequestFault
    from kcompat.node.broker import BrokerNode
    from kcompat.node.cluster import ClusterNodes
    from kcompat.replication.partition import Partition

REFUSAL: Final = "UNKNOWN_SERVER_ERROR"
"""Error for the fetches of followers that a fault lets fall behind: they try again after a pause."""


TIMEOUT_S: Final = 60.0
"""Seconds within which an ISR has to change."""
LOOK_EVERY_S: Final = 0.01
"""Seconds between two checks of a leader's ISR."""


class LeaderLoss:
    """The broker that led a partition, killed or isolated until `end`."""

    struck = 1
    """Number of brokers affected."""

    def __init__(self, nodes: ClusterNodes, topic: str, partition: int, *, isolate: bool = False) -> None:
        """Kill the broker that leads a partition, or isolate it. Raises UsageError if the partition has no
        leader.
        """
        self._nodes = nodes
        self._is_isolated = isolate
        self.broker_id = _leader_of(nodes, topic, partition)
        """Id of the broker."""
        self.is_in_force = True
        """Whether `end` was not called yet."""
        self._intervention: Intervention | None = None
        if isolate:
            isolate_broker(nodes, self.broker_id)
        else:
            nodes.kill(self.broker_id)
            self._intervention = note(nodes.by_trust(), f"Broker {self.broker_id} was killed", lasts=True)

    async def end(self) -> None:
        """Start the broker again, or reconnect all isolated ones. Raises StartError."""
        self.is_in_force = False
        if self._intervention is not None:
            self._intervention.end()
        if self._is_isolated:
            heal_brokers(self._nodes)
        elif self.broker_id not in self._nodes.running:
            await self._nodes.start(self.broker_id)

    def __str__(self) -> str:
        return f"broker {self.broker_id} is {'isolated' if self._is_isolated else 'killed'}"


def isolate_broker(nodes: ClusterNodes, broker_id: int) -> None:
    """Cut a broker off from the other brokers and from the store; clients still reach it."""
    nodes.isolate(broker_id)
    note(nodes.by_trust(), f"Broker {broker_id} is isolated", lasts=True, isolated=broker_id)


def heal_brokers(nodes: ClusterNodes) -> None:
    """Reconnect all isolated brokers."""
    nodes.heal()
    for each in interventions(nodes.by_trust()):
        if each.isolated is not None:
            each.end()


class LaggingFollowers:
    """Followers of one partition that get no records, so that they have left its ISR, until `end`."""

    def __init__(self, leader: BrokerNode, topic: str, partition: int, followers: Collection[int]) -> None:
        """Stop sending records to these followers of a partition that the broker `leader` leads."""
        self._leader = leader
        self._topic = topic
        self._partition = partition
        self.followers = sorted(followers)
        """Broker ids of the followers."""
        fetchers = leader.parts.config.current.integer("num.replica.fetchers")
        names = [client_id_of_fetcher(follower, each) for follower in followers for each in range(fetchers)]
        faults = request_faults(leader)
        self._faults: list[RequestFault] = [
            faults.add(
                "fail",
                "Fetch",
                error="UNKNOWN_SERVER_ERROR",
                topic=topic,
                partition=partition,
                client_id=name,
            )
            for name in names
        ]
        for fault in self._faults:
            faults.history.remove(fault)  # the intervention stands for them
        self._intervention = note([leader], f"B{str(self)[1:]}", lasts=True)

    def have_left(self) -> bool:
        """Return whether the followers have left the ISR, as the leader knows it and shows it to clients. If
        not, make the leader propose the ISR that it would propose after `replica.lag.time.max.ms`. The leader
        cannot do so while another of its proposals is pending, for example for a follower that has just
        caught up.
        """
        partition = self._leader.parts.storage.replicas.get(self._topic, self._partition)
        if partition is None or not isinstance(partition.state, Leader):
            return False
        known, held = partition.state.state, set(self.followers)
        if isinstance(known, Committed) and not held & set(known.isr):
            shown = self._leader.parts.storage.metadata.image.partition(self._topic, self._partition)
            return shown is not None and not held & set(shown.isr)
        now_ms = self._leader.parts.environment.clock.now_ms()
        _propose_isr_without(partition, partition.state, self.followers, now_ms)
        return False

    @property
    def is_in_force(self) -> bool:
        """Whether the followers still get no records."""
        return any(fault.is_in_force for fault in self._faults)

    @property
    def struck(self) -> int:
        """Number of Fetch requests that this fault has failed."""
        return sum(fault.struck for fault in self._faults)

    def end(self) -> None:
        """Let the followers fetch again: they join the ISR when they have caught up."""
        self._intervention.end()
        for fault in self._faults:
            fault.end()

    def __str__(self) -> str:
        return f"brokers {', '.join(map(str, self.followers))} do not follow {self._topic}-{self._partition}"


async def shrink_isr(
    nodes: ClusterNodes, topic: str, partition: int, to: int | Collection[int]
) -> LaggingFollowers:
    """Make followers of a partition fall behind, and wait until the controller has removed them from the ISR.
    `to` is as for `followers_to_hold_back`.

    Raises:
        UsageError: the partition has no leader, or `to` is not valid.
        TimeoutError: the ISR does not change within a minute.
    """
    leader = _leader_of(nodes, topic, partition)
    found = nodes.running[leader].parts.storage.metadata.image.partition(topic, partition)
    assert found is not None
    held = followers_to_hold_back(found.replicas, found.isr, leader, to)
    fault = LaggingFollowers(nodes.running[leader], topic, partition, held)

    def is_small() -> bool:
        return fault.have_left() and not set(held) & set(nodes.isr_of(topic, partition))

    try:
        async with asyncio.timeout(TIMEOUT_S):
            while not is_small():  # noqa: ASYNC110 - no event tells what a leader knows
                await asyncio.sleep(LOOK_EVERY_S)
    except BaseException:
        fault.end()
        raise
    return fault


def _leader_of(nodes: ClusterNodes, topic: str, partition: int) -> int:
    leader = nodes.leader_of(topic, partition)
    if leader == NO_LEADER or leader not in nodes.running:
        raise UsageError(f"{topic}-{partition} has no leader: create the topic, and start its brokers")
    return leader


def followers_to_hold_back(
    replicas: Collection[int], isr: Collection[int], leader: int, to: int | Collection[int]
) -> list[int]:
    """Return the followers that have to leave the ISR so that it becomes `to`: the ids that remain, or their
    number.

    Raises:
        UsageError: `to` is not valid for these replicas.
    """
    if not isinstance(to, int):
        remaining = set(to)
        if leader not in remaining or not remaining <= set(isr):
            raise UsageError(f"to={to!r} is not an ISR: use the leader {leader}, and others of {sorted(isr)}")
    elif 1 <= to <= len(isr):
        others = sorted(each for each in isr if each != leader)
        remaining = {leader, *others[: to - 1]}
    else:
        raise UsageError(f"to={to} is not a size of this ISR: use 1 to {len(isr)}")
    return sorted(set(replicas) - remaining)


def _propose_isr_without(
    partition: Partition, leader: Leader, followers: Collection[int], now_ms: int
) -> None:
    for follower in followers:
        remote = leader.remotes[follower]
        remote.log_end_offset = UNKNOWN_OFFSET
        remote.last_caught_up_ms = 0
    partition.shrink_isr(now_ms)
