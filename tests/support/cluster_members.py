"""Members of groups of a simulated cluster, classic ones and those whose partitions the broker assigns, and
what may never be: a partition that two of them have in one generation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.join_group import JoinGroupRequest
from kcompat.protocol.messages.sync_group import SyncGroupRequest
from support.cluster_coordinators import NOT_A_MEMBER, OF_GROUPS
from support.guarded_store import ViolationError

if TYPE_CHECKING:
    from typing import Any

    from support.cluster_coordinators import CoordinatorClient

SESSION_MS: Final = 3000
REBALANCE_MS: Final = 3000
JOINED_WITHIN_S: Final = 8.0
FINALIZED_WITHIN_S: Final = 1.0
"""After so long all brokers of a new cluster know the feature `group.version`."""
JOINING: Final = NOT_A_MEMBER | {ErrorCode.MEMBER_ID_REQUIRED}


class Ownership(Struct):
    """Who was told to own what, by group, generation (or epoch) and partition."""

    owners: dict[tuple[str, int, int], str] = {}

    def told(self, group: str, generation: int, member_id: str, indexes: frozenset[int]) -> None:
        """A member was told what it owns. Raises ViolationError where another one was told the same."""
        for index in indexes:
            owner = self.owners.setdefault((group, generation, index), member_id)
            if owner != member_id:
                raise ViolationError(
                    f"partition {index} has two owners in generation {generation} of {group}: {owner} and "
                    f"{member_id}"
                )


class Member(ABC):
    """What a consumer has of its group. `owned` are partitions of the topic; none while it is no member."""

    def __init__(self, client: CoordinatorClient, group: str, topic: str, ownership: Ownership) -> None:
        self.owned: frozenset[int] = frozenset()
        self._client = client
        self._group = group
        self._topic = topic
        self._ownership = ownership
        self._member_id = ""
        self._epoch = 0

    @property
    def identity(self) -> tuple[str, int]:
        """Member id and generation, or epoch."""
        return self._member_id, self._epoch

    @abstractmethod
    async def keep(self) -> None:
        """Join, or tell that this member lives, and hear what it owns. Whoever uses what it owns has finished
        with it meanwhile.
        """

    @abstractmethod
    def forget(self) -> None:
        """The process ends without a word, and another one takes its place."""

    def _own(self, indexes: frozenset[int]) -> None:
        self.owned = indexes
        self._ownership.told(self._group, self._epoch, self._member_id, indexes)

    async def _ask(self, request: Any, version: int, patience_s: float = 3) -> Any:
        return await self._client.ask(OF_GROUPS, self._group, request, version, patience_s)

    def _failed(self, error: int) -> None:
        self._client.failed(OF_GROUPS, self._group, error, JOINING)


class ClassicMember(Member):
    """Joins and syncs; whoever leads deals the partitions out in turn."""

    _is_in = False
    _dealt: int | None = None
    """How many partitions this one has dealt out, if it leads."""

    def forget(self) -> None:
        """See `Member`."""
        self._member_id, self._epoch, self.owned, self._is_in = "", 0, frozenset(), False

    async def keep(self) -> None:
        """See `Member`."""
        if not self._is_in:
            self.owned = frozenset()
            await self._join()
            return
        if self._dealt is not None and len(await self._indexes()) > self._dealt:
            self._is_in = False
            return
        answer = await self._ask(HeartbeatRequest(self._group, self._epoch, self._member_id), 3)
        if answer is None or not answer.error_code:
            return
        self._failed(answer.error_code)
        self._refused(answer.error_code)

    async def _indexes(self) -> list[int]:
        """The partitions of the topic."""
        await self._client.learn(self._topic)
        return sorted(index for topic, index in self._client.leaders if topic == self._topic)

    def _refused(self, error: int) -> None:
        if error == ErrorCode.UNKNOWN_MEMBER_ID:
            self.forget()
        elif error in NOT_A_MEMBER:
            self._is_in = False

    async def _join(self) -> None:
        protocol = JoinGroupRequest.JoinGroupRequestProtocol("in-turn", b"")
        request = JoinGroupRequest(
            self._group, SESSION_MS, REBALANCE_MS, self._member_id, None, "consumer", [protocol]
        )
        answer = await self._ask(request, 5, JOINED_WITHIN_S)
        if answer is None:
            return
        if answer.error_code:
            self._failed(answer.error_code)
            self._refused(answer.error_code)
            if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                self._member_id = answer.member_id
            return
        self._member_id, self._epoch = answer.member_id, answer.generation_id
        await self._sync([member.member_id for member in answer.members])

    async def _sync(self, members: list[str]) -> None:
        """Take what the leader gives; if this is the leader, of these members, give it."""
        indexes = await self._indexes() if members else []
        self._dealt = len(indexes) if members else None
        rows = [
            SyncGroupRequest.SyncGroupRequestAssignment(member_id, bytes(indexes[at :: len(members)]))
            for at, member_id in enumerate(members)
        ]
        request = SyncGroupRequest(self._group, self._epoch, self._member_id, assignments=rows)
        answer = await self._ask(request, 3, JOINED_WITHIN_S)
        if answer is None:
            return
        if answer.error_code:
            self._failed(answer.error_code)
            self._refused(answer.error_code)
            return
        self._is_in = True
        self._own(frozenset(answer.assignment))


class ConsumerMember(Member):
    """A member of the protocol of KIP-848: all it does is to heartbeat."""

    _topic_id = b""
    _says_all = False
    """Whether an answer was lost or an error, where it may have been given partitions: who says all is told
    all.
    """

    def forget(self) -> None:
        """See `Member`."""
        self._member_id, self._epoch, self.owned = "", 0, frozenset()

    async def keep(self) -> None:
        """See `Member`."""
        if not self._member_id:
            self._member_id = f"{self._client.name}-{self._client.random.getrandbits(32)}"
        if not self._epoch:
            self.owned = frozenset()
        answer = await self._ask(self._heartbeat(), 1)
        self._says_all = answer is None or bool(answer.error_code)
        if answer is None:
            return
        is_new = self._client.cluster.now_s < FINALIZED_WITHIN_S
        if answer.error_code == ErrorCode.UNSUPPORTED_VERSION and is_new:
            return
        if answer.error_code:
            self._failed(answer.error_code)
            if answer.error_code in NOT_A_MEMBER:
                self._epoch, self.owned = 0, frozenset()
            return
        self._epoch = answer.member_epoch
        if answer.assignment is None:
            self._own(self.owned)
        else:
            rows = answer.assignment.topic_partitions
            self._topic_id = rows[0].topic_id if rows else b""
            self._own(frozenset(index for row in rows for index in row.partitions))

    def _heartbeat(self) -> ConsumerGroupHeartbeatRequest:
        request = ConsumerGroupHeartbeatRequest(self._group, self._member_id, self._epoch)
        request.topic_partitions = []
        if self.owned:
            row = ConsumerGroupHeartbeatRequest.TopicPartitions(self._topic_id, sorted(self.owned))
            request.topic_partitions.append(row)
        if not self._epoch or self._says_all:
            request.rebalance_timeout_ms = REBALANCE_MS
            request.subscribed_topic_names = [self._topic]
        return request
