"""Members and patterns of a consumer group, replayed from the log. Makes no decisions.

Kafka's counterpart: `ConsumerGroup`.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.coordinator.timeline import TimelineDict
from kcompat.group.kinds.consumer.member import NO_EPOCHS, ConsumerMember
from kcompat.group.kinds.consumer.subscriptions import SubscriptionCounts
from kcompat.group.modern.heartbeat import LEAVE
from kcompat.group.modern.holders import Holders
from kcompat.group.modern.subscribed import SubscribedGroup, count_topics

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.coordinator.timeline import Timeline
    from kcompat.group.kinds.consumer.subscriptions import ResolvedPattern


CONSUMER = "consumer"
"""Protocol type of consumers, and the name of this kind of group."""


class ConsumerState(Enum):
    """States of a consumer group; clients see their values."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    """The target assignment is older than the group epoch."""
    RECONCILING = "Reconciling"
    """At least one member does not own its target assignment yet."""
    STABLE = "Stable"


class ConsumerMembers(SubscribedGroup[ConsumerMember]):
    """Members of one consumer group. Only replay changes them."""

    kind = CONSUMER

    def __init__(self, group_id: str, timeline: Timeline) -> None:
        super().__init__(group_id, timeline)
        self.patterns: TimelineDict[str, ResolvedPattern] = TimelineDict(timeline)
        self.static_members: dict[str, str] = {}
        """Member ids by instance id."""
        self.pattern_subscribers: Counter[str] = Counter()
        self.has_old_metadata = False
        """Whether the log has the topic metadata of a Kafka before 4.1."""
        self.needs_target = False
        """Whether a new target has to be made in any case: the group was converted from a classic group that
        was rebalancing, or that had partitions without an owner.
        """
        self._assignors: Counter[str] = Counter()
        self._classic_protocols: Counter[str] = Counter()
        self._classic_members = 0
        self._holders: Holders[tuple[bytes, int]] = Holders()

    # --- state in the log

    @property
    def is_stored(self) -> bool:
        return super().is_stored or bool(len(self.patterns)) or self.has_old_metadata

    @property
    def state(self) -> ConsumerState:
        """Latest state of the group."""
        return _state((member for _, member in self.members.items()), self.group_epoch, self.assignment_epoch)

    @property
    def committed_state(self) -> ConsumerState:
        """Committed state of the group, for descriptions."""
        header = self.committed_header
        members = (member for _, member in self.members.committed_items())
        return _state(members, header.group_epoch, header.assignment_epoch)

    def is_static(self, member_id: str) -> bool:
        member = self.members.get(member_id)
        return member is not None and member.instance_id is not None

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        """Return the member of an instance id."""
        member_id = self.static_members.get(instance_id) if instance_id is not None else None
        return None if member_id is None else self.members.get(member_id)

    def is_held(self, topic_id: bytes, partition: int) -> bool:
        """Return whether any member owns the partition or has yet to revoke it."""
        return (topic_id, partition) in self._holders

    def preferred_assignor(self, before: ConsumerMember | None, after: ConsumerMember) -> str | None:
        """Return the assignor that most members prefer, after `after` has replaced `before`; None if no
        member has a preference.
        """
        counts = Counter(self._assignors)
        if before is not None and before.server_assignor is not None:
            counts[before.server_assignor] -= 1
        if after.server_assignor is not None:
            counts[after.server_assignor] += 1
        return _most_wanted(counts)

    def committed_assignor(self) -> str | None:
        """Return the assignor that most members prefer by the committed state, for descriptions."""
        members = (member for _, member in self.members.committed_items())
        return _most_wanted(Counter(m.server_assignor for m in members if m.server_assignor is not None))

    def subscriptions(self) -> SubscriptionCounts:
        """Return the subscriptions of all members, as a copy that the caller may change."""
        return SubscriptionCounts(
            len(self.members),
            Counter(self.subscribers),
            Counter(self.pattern_subscribers),
            dict(self.patterns.latest),
        )

    def former(self, before: ConsumerMember) -> ConsumerMember | None:
        """Return the member in the log that `before` replaces, possibly with another id; None if it
        is new.
        """
        return self.static_member(before.instance_id) or self.members.get(before.member_id)

    def subscriptions_with(self, before: ConsumerMember, after: ConsumerMember) -> SubscriptionCounts:
        """Return the subscriptions of all members after `after` has replaced `before`."""
        subscriptions = self.subscriptions()
        subscriptions.count(after, 1)
        former = self.former(before)
        if former is not None:
            subscriptions.count(former, -1)
        return subscriptions

    def subscribed_names(self) -> Iterable[str]:
        if not len(self.patterns):
            return self.subscribers.keys()
        return set(self.subscribers).union(*(pattern.topics for pattern in self.patterns.latest.values()))

    @property
    def classic_members(self) -> int:
        """Number of members that use the classic protocol."""
        return self._classic_members

    def supports_classic(self, protocol_type: str, protocols: Iterable[str]) -> bool:
        """Return whether one more classic member with these protocols would leave a protocol that all classic
        members support.
        """
        return protocol_type == CONSUMER and any(
            self._classic_protocols[name] == self._classic_members for name in protocols
        )

    # --- replay

    def set_member(self, member: ConsumerMember, offset: int) -> None:
        before = self.members.get(member.member_id)
        self._holders.changed(member.member_id, () if before is None else before.held(), member.held())
        super().set_member(member, offset)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id

    def remove_member(self, member_id: str, offset: int) -> None:
        member = self.members.get(member_id)
        if member is not None:
            self._holders.changed(member_id, member.held(), ())
        super().remove_member(member_id, offset)
        instance_id = None if member is None else member.instance_id
        if instance_id is not None and self.static_members.get(instance_id) == member_id:
            del self.static_members[instance_id]

    def _count(self, member: ConsumerMember, by: int) -> None:
        super()._count(member, by)
        if member.subscribed_regex:
            count_topics(self.pattern_subscribers, (member.subscribed_regex,), by)
        if member.server_assignor is not None:
            self._assignors[member.server_assignor] += by
        if member.classic is not None:
            self._classic_members += by
            count_topics(self._classic_protocols, {name for name, _ in member.classic.protocols}, by)

    def _without_anything(self, member: ConsumerMember) -> ConsumerMember:
        return replace(
            member, member_epoch=LEAVE, previous_member_epoch=LEAVE, assigned=NO_EPOCHS, revoking=NO_EPOCHS
        )

    def check_invariants(self) -> None:
        """Assert the invariants of the group."""
        super().check_invariants()
        members = dict(self.members.items())
        held = [(key, member_id) for member_id, member in members.items() for key in member.held()]
        assert len(held) == len(dict(held)), "a partition has two holders"
        assert dict(self._holders.items()) == dict(held)
        assert self.static_members == {
            m.instance_id: m.member_id for m in members.values() if m.instance_id is not None
        }
        patterns = Counter(m.subscribed_regex for m in members.values() if m.subscribed_regex)
        assert +self.pattern_subscribers == patterns
        assert self._classic_members == sum(m.classic is not None for m in members.values())
        assert all(m.member_epoch <= self.group_epoch for m in members.values())
        assert self.assignment_epoch <= self.group_epoch


def _state(members: Iterable[ConsumerMember], group_epoch: int, assignment_epoch: int) -> ConsumerState:
    members = list(members)
    if not members:
        return ConsumerState.EMPTY
    if group_epoch > assignment_epoch:
        return ConsumerState.ASSIGNING
    if all(member.is_reconciled_to(assignment_epoch) for member in members):
        return ConsumerState.STABLE
    return ConsumerState.RECONCILING


def _most_wanted(counts: Counter[str]) -> str | None:
    return max(sorted(name for name in counts if counts[name] > 0), key=counts.__getitem__, default=None)
