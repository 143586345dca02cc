"""Members, generation and state of a classic group: data without timers and decisions.

The data are kept in memory alone. After a restart they are read from the group's last record, and a rebalance
that was under way is lost. Kafka's counterpart: `GroupMetadata`.
"""

from __future__ import annotations

import struct
from collections import Counter
from enum import Enum
from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.group.requests import JoinAnswer, JoinedMember
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from kcompat.protocol.messages.group_records import GroupMetadataValue
from kcompat.protocol.schema import ProtocolViolation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.group.requests import SyncAnswer
    from kcompat.promise import Promise

_VERSION = struct.Struct(">h")


class ClassicState(Enum):
    """States of a classic group; clients see their values."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"

    def may_follow(self, previous: ClassicState) -> bool:
        """Return whether a group may change from state `previous` to this state."""
        return previous in _PREVIOUS[self]


_PREVIOUS: dict[ClassicState, frozenset[ClassicState]] = {
    ClassicState.EMPTY: frozenset({ClassicState.PREPARING_REBALANCE}),
    ClassicState.PREPARING_REBALANCE: frozenset(
        {ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE, ClassicState.EMPTY}
    ),
    ClassicState.COMPLETING_REBALANCE: frozenset({ClassicState.PREPARING_REBALANCE}),
    ClassicState.STABLE: frozenset({ClassicState.COMPLETING_REBALANCE}),
    ClassicState.DEAD: frozenset(ClassicState),
}


class ClassicMember(Struct, eq=False):
    """A member, the fields of its JoinGroup request, and its parked requests.

    `is_new` is set until the first join is answered: until then the client cannot heartbeat, so a fixed
    limit, not the session timeout, bounds its wait. `assignment` is the last one written; it is empty once it
    is out of date.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: tuple[tuple[str, bytes], ...]
    assignment: bytes = b""
    is_new: bool = False
    join: Promise[JoinAnswer] | None = None
    sync: Promise[SyncAnswer] | None = None

    @property
    def is_static(self) -> bool:
        """Whether the member has an instance id, so that it may be absent for its session timeout
        (KIP-345).
        """
        return self.instance_id is not None

    def take_sync(self) -> Promise[SyncAnswer] | None:
        """Remove and return the member's parked sync, for the caller to answer; None if there is none."""
        promise, self.sync = self.sync, None
        return promise

    @property
    def protocol_names(self) -> set[str]:
        """The protocols that the member supports."""
        return {name for name, _ in self.protocols}

    def metadata(self, protocol: str) -> bytes:
        """Return the member's metadata for a protocol: the first one if the protocol is named twice, empty if
        it is not named.
        """
        return next((metadata for name, metadata in self.protocols if name == protocol), b"")

    def vote(self, candidates: set[str]) -> str:
        """Return the member's first preference among the candidates."""
        return next(name for name, _ in self.protocols if name in candidates)


CONSUMER_PROTOCOL = "consumer"
NO_TIMESTAMP = -1


class ClassicMembers:
    """Members of one classic group, and the state of their generation."""

    def __init__(self, group_id: str, now_ms: int = NO_TIMESTAMP) -> None:
        self.group_id = group_id
        self.state = ClassicState.EMPTY
        self.state_timestamp = now_ms
        """Time in ms at which the group entered its state; -1 if the log's record is too old to have it."""
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader: str | None = None
        self.members: dict[str, ClassicMember] = {}
        self.static_members: dict[str, str] = {}
        """Member ids by instance id."""
        self.pending_members: set[str] = set()
        """Assigned member ids whose clients have not joined with them yet (KIP-394)."""
        self.pending_syncs: set[str] = set()
        """Ids of members of this generation that have not sent SyncGroup yet."""
        self.in_initial_delay = False
        """Whether the first generation is delayed for more members to join (KIP-134)."""
        self.new_member_added = False
        """Whether a member has joined during that delay, which is then extended."""
        self.subscribed: frozenset[str] | None = None
        """Topics that the members of a consumer group subscribe to; None if they cannot be determined."""
        self._joining = 0
        self._support: Counter[str] = Counter()

    # --- state

    def is_in(self, *states: ClassicState) -> bool:
        """Return whether the group is in one of the states."""
        return self.state in states

    def transition_to(self, state: ClassicState, now_ms: int) -> None:
        """Enter a state."""
        assert state.may_follow(self.state), f"{self.group_id}: {self.state} to {state}"
        self.state = state
        self.state_timestamp = now_ms

    def next_generation(self, now_ms: int) -> None:
        """Start the next generation with the present members."""
        self.generation += 1
        self.protocol_name = self.select_protocol() if self.members else None
        self.subscribed = self.compute_subscribed()
        self.pending_syncs.clear()
        self.transition_to(ClassicState.COMPLETING_REBALANCE if self.members else ClassicState.EMPTY, now_ms)

    # --- members

    def add(self, member: ClassicMember) -> None:
        """Add a new member; the first one decides the protocol type and leads."""
        assert member.member_id not in self.members
        if member.instance_id is not None:
            assert member.instance_id not in self.static_members
            self.static_members[member.instance_id] = member.member_id
        if not self.members:
            self.protocol_type = member.protocol_type
        assert self.protocol_type == member.protocol_type
        if self.leader is None:
            self.leader = member.member_id
        self.members[member.member_id] = member
        self._support.update(member.protocol_names)
        self._joining += member.join is not None
        self.pending_members.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        """Remove a member whose parked requests have been answered."""
        member = self.members.pop(member_id)
        assert member.join is None
        assert member.sync is None
        self._support.subtract(member.protocol_names)
        self.pending_syncs.discard(member_id)
        if member.instance_id is not None:
            del self.static_members[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)

    def update(
        self,
        member: ClassicMember,
        protocols: tuple[tuple[str, bytes], ...],
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
    ) -> None:
        """Update the protocols and timeouts of a member that joined again."""
        self._support.subtract(member.protocol_names)
        member.protocols = protocols
        self._support.update(member.protocol_names)
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms

    def rename_static(self, instance_id: str, new_member_id: str) -> ClassicMember:
        """Replace the member id of a static member that has returned under a new one; return the member."""
        old_member_id = self.static_members[instance_id]
        member = self.members.pop(old_member_id)
        member.member_id = new_member_id
        self.members[new_member_id] = member
        self.static_members[instance_id] = new_member_id
        if self.leader == old_member_id:
            self.leader = new_member_id
        if old_member_id in self.pending_syncs:
            self.pending_syncs.discard(old_member_id)
            self.pending_syncs.add(new_member_id)
        return member

    def park_join(self, member: ClassicMember, promise: Promise[JoinAnswer]) -> None:
        """Park the join of a member that waits for the next generation."""
        assert member.join is None
        member.join = promise
        self._joining += 1

    def take_join(self, member: ClassicMember) -> Promise[JoinAnswer] | None:
        """Remove and return the member's parked join, for the caller to answer; None if there is none."""
        promise, member.join = member.join, None
        self._joining -= promise is not None
        return promise

    @property
    def joining(self) -> int:
        """Number of members that wait in a join."""
        return self._joining

    @property
    def everybody_joined(self) -> bool:
        """Whether all members wait for the next generation, and no assigned member id is left whose client
        has yet to join.
        """
        return self._joining == len(self.members) and not self.pending_members

    @property
    def rebalance_timeout_ms(self) -> int:
        """Longest rebalance timeout of the members, in ms."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def member_error(self, member_id: str, instance_id: str | None) -> ErrorCode:
        """Return the error for a request with this member id and instance id; NONE if the member is in the
        group.
        """
        if instance_id is not None:
            current = self.static_members.get(instance_id)
            if current is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if current != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    # --- protocols

    def supports(self, protocol_type: str, protocols: Iterable[str]) -> bool:
        """Return whether one more member with these protocols would leave a protocol that all members
        support.
        """
        if not self.members:
            return bool(protocol_type) and any(True for _ in protocols)
        if protocol_type != self.protocol_type:
            return False
        return any(self._support[name] == len(self.members) for name in protocols)

    def select_protocol(self) -> str:
        """Return the protocol of the next generation: of those that all members support, the one with the
        most first preferences.
        """
        candidates = {name for name, count in self._support.items() if count == len(self.members)}
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return max(votes, key=votes.__getitem__)

    @property
    def is_consumer_group(self) -> bool:
        """Whether the members are consumers, whose subscriptions the coordinator can read."""
        return self.protocol_type == CONSUMER_PROTOCOL

    def compute_subscribed(self) -> frozenset[str] | None:
        """Return the topics that this generation subscribes to; None if they are unknown."""
        if not self.is_consumer_group:
            return None
        if not self.members:
            return frozenset()
        if self.protocol_name is None:
            return None
        return subscribed_topics(member.metadata(self.protocol_name) for member in self.members.values())

    # --- answers and records

    def join_answer(self, member_id: str) -> JoinAnswer:
        """Return the JoinGroup response for one member, with the current generation."""
        return JoinAnswer(
            member_id=member_id,
            generation=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            leader=self.leader or "",
            members=self.member_list() if member_id == self.leader else (),
        )

    def member_list(self) -> tuple[JoinedMember, ...]:
        """Return all members with their metadata for the chosen protocol, for the leader to assign
        partitions.
        """
        assert self.protocol_name is not None
        protocol = self.protocol_name
        return tuple(
            JoinedMember(member.member_id, member.instance_id, member.metadata(protocol))
            for member in self.members.values()
        )

    def to_value(self, assignments: dict[str, bytes]) -> GroupMetadataValue:
        """Return the record of this generation with these assignments; members without one have an empty
        assignment.
        """
        protocol = self.protocol_name
        return GroupMetadataValue(
            protocol_type=self.protocol_type or "",
            generation=self.generation,
            protocol=protocol,
            leader=self.leader,
            current_state_timestamp=self.state_timestamp,
            members=[
                GroupMetadataValue.MemberMetadata(
                    member_id=member.member_id,
                    group_instance_id=member.instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    rebalance_timeout=member.rebalance_timeout_ms,
                    session_timeout=member.session_timeout_ms,
                    subscription=member.metadata(protocol or ""),
                    assignment=assignments.get(member.member_id, b""),
                )
                for member in self.members.values()
            ],
        )

    def check_invariants(self) -> None:
        """Assert the invariants of the group."""
        members = self.members
        assert all(member_id == member.member_id for member_id, member in members.items())
        assert self._joining == sum(member.join is not None for member in members.values())
        assert +self._support == Counter(name for m in members.values() for name in m.protocol_names)
        assert self.static_members == {
            m.instance_id: m.member_id for m in members.values() if m.instance_id is not None
        }
        assert not self.pending_members & members.keys()
        assert self.pending_syncs <= members.keys()
        assert (self.leader in members) if members else self.leader is None
        assert (self.state in (ClassicState.EMPTY, ClassicState.DEAD)) <= (not members)
        if self.is_in(ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE):
            assert members
            assert self.protocol_name is not None
        if self.is_in(ClassicState.COMPLETING_REBALANCE):
            assert self._joining == 0
        if not self.is_in(ClassicState.COMPLETING_REBALANCE):
            assert not any(member.sync for member in members.values())


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """Return the topics of all subscriptions; None if a subscription cannot be read.

    A subscription is an int16 version and a ConsumerProtocolSubscription. Every version begins with the
    fields of version 0, and only those are read, so that consumers newer than this broker are supported too.
    """
    topics: set[str] = set()
    for subscription in subscriptions:
        if len(subscription) < _VERSION.size:
            return None
        try:
            parsed = ConsumerProtocolSubscription.decode(memoryview(subscription), 0, _VERSION.size)
        except ProtocolViolation:
            return None
        topics.update(parsed.topics)
    return frozenset(topics)
