"""Clients of a simulated cluster's coordinators: how they find them, and one that commits offsets."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcompat.protocol.messages.offset_commit import OffsetCommitRequest
from kcompat.protocol.messages.offset_fetch import OffsetFetchRequest
from support.cluster_clients import PASSING, PATIENCE_S, ClusterClient, NoAnswerError
from support.guarded_store import ViolationError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from kcompat.protocol.message import Message
    from support.cluster_clients import Reachable
    from support.history import Place

OF_GROUPS: Final = 0
OF_TRANSACTIONS: Final = 1


class CoordinatorClient(ClusterClient):
    """Asks the coordinators of groups and of transactional ids, once it has found them."""

    def __init__(self, cluster: Reachable, name: str, random: Random) -> None:
        super().__init__(cluster, name, random)
        self._coordinators: dict[tuple[int, str], int] = {}

    async def ask(
        self, kind: int, key: str, request: Message, version: int, patience_s: float = PATIENCE_S
    ) -> Any:
        """The answer of the coordinator of a group or an id; None, after a while, where there is none."""
        found = self._coordinators.get((kind, key), -1)
        try:
            if found < 0:
                question = FindCoordinatorRequest(key=key, key_type=kind)
                answer = await self.call(self.random.choice(self.cluster.broker_ids), question, 2)
                found = -1 if answer.error_code else answer.node_id
            if found >= 0:
                self._coordinators[kind, key] = found
                return await self.call(found, request, version, patience_s)
        except NoAnswerError:
            await self.miss(kind, key)
        await self.pause()
        return None

    async def miss(self, kind: int, key: str) -> None:
        """Do what is to be done where a broker gave no answer: look elsewhere."""
        self.look_elsewhere(kind, key)

    def look_elsewhere(self, kind: int, key: str) -> None:
        """Find the coordinator again before it is asked the next time."""
        self._coordinators.pop((kind, key), None)

    async def committed(
        self, group: str, topic: str, indexes: list[int], member: tuple[str | None, int] = (None, -1)
    ) -> dict[int, int] | None:
        """Return a group's committed offsets, once no transaction has some pending.

        None is returned where the coordinator gives no answer. `member` is an id and an epoch. The client
        learns the leader epochs that were committed with the offsets.
        """
        rows = [OffsetFetchRequest.OffsetFetchRequestTopics(topic, partition_indexes=indexes)]
        asked = OffsetFetchRequest.OffsetFetchRequestGroup(group, *member, topics=rows)
        answer = await self.ask(OF_GROUPS, group, OffsetFetchRequest(groups=[asked], require_stable=True), 9)
        if answer is None:
            return None
        (found,) = answer.groups
        if found.error_code:
            self.failed(OF_GROUPS, group, found.error_code, NOT_A_MEMBER)
            return None
        partitions = found.topics[0].partitions
        if any(row.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT for row in partitions):
            await self.pause()
            return None
        for row in partitions:
            self.heard_of((topic, row.partition_index), row.committed_leader_epoch)
        return {row.partition_index: max(row.committed_offset, 0) for row in partitions}

    async def commit(
        self, group: str, topic: str, offsets: Mapping[int, int], member: tuple[str, int] = ("", -1)
    ) -> bool:
        """Whether a commit was accepted; it may have been where this says no."""
        rows = [OffsetCommitRequest.OffsetCommitRequestPartition(*each) for each in offsets.items()]
        wanted = OffsetCommitRequest.OffsetCommitRequestTopic(topic, partitions=rows)
        member_id, epoch = member
        request = OffsetCommitRequest(group, epoch, member_id, topics=[wanted])
        answer = await self.ask(OF_GROUPS, group, request, 9)
        if answer is None:
            return False
        errors = {row.error_code for row in answer.topics[0].partitions}
        for error in errors - {ErrorCode.NONE}:
            self.failed(OF_GROUPS, group, error, NOT_A_MEMBER)
        return errors == {ErrorCode.NONE}

    def failed(self, kind: int, key: str, error: int, passing: frozenset[ErrorCode]) -> None:
        """Look elsewhere after an error that passes. Raises ViolationError for one that nobody expects."""
        if error in PASSING:
            self.look_elsewhere(kind, key)
        elif error not in passing:
            raise ViolationError(f"{self.name} is answered {error_of(error).name} about {key}")


NOT_A_MEMBER: Final = frozenset(
    {
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.GROUP_ID_NOT_FOUND,
    }
)
"""Errors for a client that is no member any more, or has asked a broker that is not its coordinator."""


class Committer(CoordinatorClient):
    """Commits ever larger offsets in a group, and finds the last one that was accepted, or a later one."""

    def __init__(self, cluster: Reachable, place: Place, random: Random) -> None:
        super().__init__(cluster, "committer", random)
        self._topic, self._index = place
        self._tried = 0
        self._accepted = -1
        self.is_done = False

    async def run(self) -> None:
        """Commit until `is_done`."""
        while not self.is_done:
            self._tried += 1
            if await self.commit("g", self._topic, {self._index: self._tried}):
                self._accepted = self._tried
            await asyncio.sleep(self.random.uniform(0, 0.4))

    async def check(self) -> None:
        """See that what was committed is there. Raises ViolationError."""
        while (found := await self.committed("g", self._topic, [self._index])) is None:
            await self.pause()
        committed = found[self._index]
        if not self._accepted <= committed <= self._tried:
            raise ViolationError(
                f"committed is {committed}; {self._accepted} was accepted last, {self._tried} tried"
            )
