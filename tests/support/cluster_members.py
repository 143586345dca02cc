"""Members of groups of a simulated cluster, classic ones, those whose partitions or tasks the broker assigns,
and sharers, and what may never be: a partition that two consumers have in one generation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from msgspec import Struct

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.join_group import JoinGroupRequest
from kcompat.protocol.messages.leave_group import LeaveGroupRequest
from kcompat.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kcompat.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from kcompat.protocol.messages.sync_group import SyncGroupRequest
from support.cluster_coordinators import NOT_A_MEMBER, OF_GROUPS
from support.consumer_texts import assigned, assignment, subscription
from support.guarded_store import ViolationError

if TYPE_CHECKING:
    from typing import Any

    from kcompat.protocol.message import Message
    from support.cluster_coordinators import CoordinatorClient

FINALIZED_WITHIN_S: Final = 1.0
"""After so long all brokers of a new cluster know its features."""
Known = TypeVar("Known")
JOINING: Final = NOT_A_MEMBER | {ErrorCode.MEMBER_ID_REQUIRED}
LEAVING: Final = -1
"""The epoch of a member that leaves."""
SUBTOPOLOGY: Final = "reads"


class Times(Struct, frozen=True):
    """How patient members and their coordinator are with each other; seconds are those of members."""

    session_ms: int = 3000
    rebalance_ms: int = 3000
    answered_s: float = 3.0
    joined_s: float = 8.0


class Ownership(Struct):
    """The owners of partitions, by group, generation (or epoch) and partition.

    A group that has no members gives way to one of another kind, which counts from the beginning: a partition
    may have another owner in a generation of the same number then, but the former one hears no more of it.
    """

    owners: dict[tuple[str, int, int], str] = {}
    changing: set[str] = set()
    """The groups that may change their kind."""
    former: set[tuple[tuple[str, int, int], str]] = set()

    def begun(self, member_id: str) -> None:
        """A member joins anew, whatever it was before."""
        self.former = {each for each in self.former if each[1] != member_id}

    def kept(self, group: str, member_id: str, indexes: frozenset[int]) -> None:
        """A member is about to tell the coordinator that it owns no more than these."""

    def lives(self, group: str, member_id: str, asked_s: float) -> None:
        """The coordinator let a member be that asked at this time."""

    def told(self, group: str, generation: int, member_id: str, indexes: frozenset[int]) -> None:
        """A member was told what it owns. Raises ViolationError where another one was told the same."""
        for index in indexes:
            place = (group, generation, index)
            owner = self.owners.get(place, member_id)
            if owner != member_id:
                if group not in self.changing or (place, member_id) in self.former:
                    raise ViolationError(
                        f"partition {index} has two owners in generation {generation} of {group}: {owner} "
                        f"and {member_id}"
                    )
                self.former.add((place, owner))
            self.owners[place] = member_id


class Member(ABC, Generic[Known]):
    """A member of a group. `owned` are partitions of the topic; none while the client is no member."""

    def __init__(
        self,
        client: CoordinatorClient,
        group: str,
        topic: str,
        ownership: Ownership,
        times: Times = Times(),  # noqa: B008 - nothing changes it
    ) -> None:
        self.owned: frozenset[int] = frozenset()
        self.known: dict[int, Known] = {}
        """Facts that the user of this member knows of its partitions.

        They are dropped with a partition, since others may own it before the member does again.
        """
        self._client = client
        self._group = group
        self._topic = topic
        self._ownership = ownership
        self._times = times
        self._member_id = ""
        self._epoch = 0

    @property
    def identity(self) -> tuple[str, int]:
        """Member id and generation, or epoch."""
        return self._member_id, self._epoch

    @property
    def asks_as(self) -> tuple[str | None, int]:
        """Member id and epoch for requests of the group's committed offsets."""
        return None, -1

    @abstractmethod
    async def keep(self) -> None:
        """Join, or tell that this member lives, and hear what it owns. Whoever uses what it owns has finished
        with it meanwhile.
        """

    @abstractmethod
    def forget(self) -> None:
        """The process ends without a word, and another one takes its place."""

    @abstractmethod
    async def leave(self) -> None:
        """Say that this is a member no more; not said twice if nobody hears it."""

    def _hold(self, indexes: frozenset[int]) -> None:
        self.owned = indexes
        self.known = {index: what for index, what in self.known.items() if index in indexes}

    def _keep(self, indexes: frozenset[int]) -> None:
        self._hold(indexes)
        self._ownership.kept(self._group, self._member_id, indexes)

    def _own(self, indexes: frozenset[int], asked_s: float) -> None:
        self._hold(indexes)
        self._ownership.lives(self._group, self._member_id, asked_s)
        self._ownership.told(self._group, self._epoch, self._member_id, indexes)

    async def _ask(self, request: Message, version: int, *, joins: bool = False) -> Any:
        patience_s = self._times.joined_s if joins else self._times.answered_s
        return await self._client.ask(OF_GROUPS, self._group, request, version, patience_s)

    def _failed(self, error: int) -> None:
        self._client.failed(OF_GROUPS, self._group, error, JOINING)


class ClassicMember(Member[Known]):
    """Joins and syncs; whoever leads deals the partitions out in turn. It gives all up before it joins."""

    _is_in = False
    _dealt: int | None = None
    """How many partitions this one has dealt out, if it leads."""

    def forget(self) -> None:
        self._member_id, self._epoch, self._is_in = "", 0, False
        self._hold(frozenset())

    async def leave(self) -> None:
        if self._member_id:
            leaving = LeaveGroupRequest.MemberIdentity(self._member_id)
            await self._ask(LeaveGroupRequest(self._group, members=[leaving]), 3)

    async def keep(self) -> None:
        if not self._is_in:
            self._keep(frozenset())
            await self._join()
            return
        if self._dealt is not None and len(await self._indexes()) > self._dealt:
            self._is_in = False
            return
        asked_s = self._client.cluster.now_s
        answer = await self._ask(HeartbeatRequest(self._group, self._epoch, self._member_id), 3)
        if answer is None:
            return
        if not answer.error_code:
            self._own(self.owned, asked_s)
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
        protocol = JoinGroupRequest.JoinGroupRequestProtocol("in-turn", subscription([self._topic]))
        session_ms, rebalance_ms = self._times.session_ms, self._times.rebalance_ms
        request = JoinGroupRequest(
            self._group, session_ms, rebalance_ms, self._member_id, None, "consumer", [protocol]
        )
        answer = await self._ask(request, 5, joins=True)
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
            SyncGroupRequest.SyncGroupRequestAssignment(
                member_id, self._dealt_to(indexes[at :: len(members)])
            )
            for at, member_id in enumerate(members)
        ]
        request = SyncGroupRequest(self._group, self._epoch, self._member_id, assignments=rows)
        asked_s = self._client.cluster.now_s
        answer = await self._ask(request, 3, joins=True)
        if answer is None:
            return
        if answer.error_code:
            self._failed(answer.error_code)
            self._refused(answer.error_code)
            return
        self._is_in = True
        given = assigned(answer.assignment) if answer.assignment else ()
        self._own(frozenset(index for _, index in given), asked_s)

    def _dealt_to(self, indexes: list[int]) -> bytes:
        return assignment(frozenset((self._topic, index) for index in indexes))


class ModernMember(Member[Known]):
    """One that heartbeats, in the epoch it was told, and is told its partitions by the coordinator."""

    version = 1
    """Version of its heartbeats."""
    topic_id = b""
    """Id of the topic, while the member owns partitions."""
    is_told_again = True
    """Whether who says all is told all; else it has to join once more."""
    _says_all = False
    """Whether an answer was lost or an error, where it may have been given partitions."""

    def forget(self) -> None:
        self._member_id, self._epoch = "", 0
        self._hold(frozenset())

    async def keep(self) -> None:
        if not self._member_id:
            self._member_id = f"{self._client.name}-{self._client.random.getrandbits(32)}"
        if self._says_all and not self.is_told_again:
            self._epoch = 0
        self._keep(self.owned if self._epoch else frozenset())
        asked_s = self._client.cluster.now_s
        answer = await self._ask(self._heartbeat(), self.version)
        self._says_all = answer is None or bool(answer.error_code)
        if answer is None:
            return
        is_new = self._client.cluster.now_s < FINALIZED_WITHIN_S
        if answer.error_code == ErrorCode.UNSUPPORTED_VERSION and is_new:
            return
        if answer.error_code:
            self._failed(answer.error_code)
            if answer.error_code in NOT_A_MEMBER:
                self._epoch = 0
                self._hold(frozenset())
                self._ownership.begun(self._member_id)
            return
        self._epoch = answer.member_epoch
        given = self._given(answer)
        self._own(self.owned if given is None else given, asked_s)

    @property
    def asks_as(self) -> tuple[str | None, int]:
        return self.identity

    async def leave(self) -> None:
        if self._epoch:
            self._epoch = LEAVING
            await self._ask(self._heartbeat(), self.version)

    @abstractmethod
    def _heartbeat(self) -> Message:
        """Return the next heartbeat."""

    def _given(self, answer: Any) -> frozenset[int] | None:
        """The partitions that it is told to own; None where it is told nothing of them."""
        if answer.assignment is None:
            return None
        rows = answer.assignment.topic_partitions
        self.topic_id = rows[0].topic_id if rows else b""
        return frozenset(index for row in rows for index in row.partitions)


class ConsumerMember(ModernMember[Known]):
    """A member of the protocol of KIP-848: all it does is to heartbeat."""

    def _heartbeat(self) -> ConsumerGroupHeartbeatRequest:
        request = ConsumerGroupHeartbeatRequest(self._group, self._member_id, self._epoch)
        if self._epoch == LEAVING:
            return request
        request.topic_partitions = []
        if self.owned:
            row = ConsumerGroupHeartbeatRequest.TopicPartitions(self.topic_id, sorted(self.owned))
            request.topic_partitions.append(row)
        if not self._epoch or self._says_all:
            request.rebalance_timeout_ms = self._times.rebalance_ms
            request.subscribed_topic_names = [self._topic]
        return request


class StreamsMember(ModernMember[Known]):
    """A member of a streams group (KIP-1071) whose topology reads the topic: a task for each partition."""

    version = 0
    is_told_again = False

    def _heartbeat(self) -> StreamsGroupHeartbeatRequest:
        request = StreamsGroupHeartbeatRequest(self._group, self._member_id, self._epoch)
        if self._epoch == LEAVING:
            return request
        tasks = [StreamsGroupHeartbeatRequest.TaskIds(SUBTOPOLOGY, sorted(self.owned))] if self.owned else []
        request.active_tasks, request.standby_tasks, request.warmup_tasks = tasks, [], []
        if not self._epoch:
            reads = StreamsGroupHeartbeatRequest.Subtopology(SUBTOPOLOGY, [self._topic])
            request.topology = StreamsGroupHeartbeatRequest.Topology(0, [reads])
            request.rebalance_timeout_ms = self._times.rebalance_ms
            request.process_id, request.client_tags = self._client.name, []
        return request

    def _given(self, answer: Any) -> frozenset[int] | None:
        rows = answer.active_tasks
        return None if rows is None else frozenset(index for row in rows for index in row.partitions)


class ShareMember(ModernMember[None]):
    """A member of a share group (KIP-932): others may have the same partitions."""

    def _own(self, indexes: frozenset[int], asked_s: float) -> None:
        del asked_s
        self._hold(indexes)

    def _heartbeat(self) -> ShareGroupHeartbeatRequest:
        request = ShareGroupHeartbeatRequest(self._group, self._member_id, self._epoch)
        if not self._epoch or self._says_all:
            request.subscribed_topic_names = [self._topic]
        return request
