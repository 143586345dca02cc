"""A client of a simulated cluster that waits for its coordinator as librdkafka does from 2.10 on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from kcompat.coordinator.partitioning import partition_for
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.topics import CONSUMER_OFFSETS
from support.cluster_clients import PATIENCE_S, NoAnswerError
from support.cluster_coordinators import OF_GROUPS, CoordinatorClient
from support.guarded_store import ViolationError

if TYPE_CHECKING:
    from random import Random

    from kcompat.protocol.message import Message
    from support.history import Place
    from support.virtual_cluster import VirtualCluster

GROUPS: Final = [f"waiter-{number}" for number in range(10)]
ENOUGH: Final = 3
"""Replicas in sync of which one may be killed, where two have to be in sync."""
ASKS_AGAIN_S: Final = 1.0
"""Seconds that a request waits for a broker before the client asks again who coordinates."""
WITHIN_S: Final = 10.0
"""Longest time in seconds that a commit may take whose coordinator was killed."""


class Waiter(CoordinatorClient):
    """Commits offsets in a group of its own, whose state has enough replicas to outlive one of them.

    A request waits until its coordinator can be connected to. Each attempt that fails is an occasion to look
    whether to ask again who coordinates. There are no more attempts once the broker has disappeared from
    Metadata: then the request waits until the client connects to another broker, or loses a connection.
    """

    def __init__(self, cluster: VirtualCluster, place: Place, random: Random) -> None:
        super().__init__(cluster, "waiter", random)
        self._virtual = cluster
        self._topic, self._index = place
        self._offset = 0
        self._group = GROUPS[0]
        self._changed = asyncio.Event()
        """Set when a connection is made or lost."""

    async def outlive_coordinator(self) -> int | None:
        """Commit, kill the coordinator of the group, and commit again; the broker that was killed, None where
        no group has enough replicas. Raises ViolationError where a commit takes too long.
        """
        found = next(filter(self._has_enough_replicas, GROUPS), None)
        if found is None:
            return None
        self._group = found
        await self._commit()
        killed = self._coordinators[OF_GROUPS, self._group]
        self._virtual.kill(killed)
        await self._commit()
        self.close()
        return killed

    def _has_enough_replicas(self, group: str) -> bool:
        states = self._virtual.store.states
        count = sum(topic == CONSUMER_OFFSETS for topic, _ in states)
        state = states.get((CONSUMER_OFFSETS, partition_for(group, count))) if count else None
        return state is not None and len(state.isr) >= ENOUGH

    async def _commit(self) -> None:
        self._offset += 1
        try:
            async with asyncio.timeout(WITHIN_S):
                while not await self.commit(self._group, self._topic, {self._index: self._offset}):
                    pass
        except TimeoutError:
            raise ViolationError(f"{self.name} could not commit within {WITHIN_S} s") from None

    async def call(
        self, broker_id: int, request: Message, version: int, patience_s: float = PATIENCE_S
    ) -> Any:
        had_connection = broker_id in self._connections
        try:
            return await super().call(broker_id, request, version, patience_s)
        finally:
            if (broker_id in self._connections) != had_connection:
                self._changed.set()

    async def miss(self, kind: int, key: str) -> None:
        coordinator = self._coordinators.get((kind, key))
        if coordinator is not None:
            await self._wait_for(coordinator)
        await super().miss(kind, key)

    async def _wait_for(self, broker_id: int) -> None:
        """Wait until there is an occasion to ask again who coordinates, where a broker gives no answer."""
        asks_again_s = self.cluster.now_s + ASKS_AGAIN_S
        while self.cluster.now_s < asks_again_s:
            if not await self._is_listed(broker_id):
                self._virtual.happened(f"{self.name} waits for a broker that is listed no more: {broker_id}")
                self._changed.clear()
                await self._changed.wait()
                return
            await self.pause()

    async def _is_listed(self, broker_id: int) -> bool:
        """Whether Metadata names a broker, as a broker says that this client is connected to."""
        others = [each for each in self._connections if each != broker_id]
        asked = self.random.choice(others or self.cluster.broker_ids)
        try:
            answer = await self.call(asked, MetadataRequest(topics=[]), 9)
        except NoAnswerError:
            return True
        return broker_id in [each.node_id for each in answer.brokers]
