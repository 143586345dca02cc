"""State of groups whose members subscribe to topics and whose targets are partitions: consumer and share
groups.

Kafka's counterpart: the part of `ModernGroup` that handles subscriptions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar

from kcompat.group.assignors.spec import NO_PARTITIONS
from kcompat.group.modern.group import ModernGroup, ModernMember

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.coordinator.timeline import Timeline


class SubscribedMember(ModernMember, Protocol):
    """A member that subscribes to topics by name."""

    @property
    def subscribed_topics(self) -> frozenset[str]:
        """Names of the topics that the member subscribes to."""


M = TypeVar("M", bound=SubscribedMember)


class SubscribedGroup(ModernGroup[M, Mapping[bytes, frozenset[int]]]):
    """A group whose members subscribe to topics, replayed from the log."""

    def __init__(self, group_id: str, timeline: Timeline) -> None:
        super().__init__(group_id, timeline)
        self._subscribers: Counter[str] = Counter()

    def target(self, member_id: str) -> Mapping[bytes, frozenset[int]]:
        """Return the partitions of a member in the target assignment."""
        return self.targets.get(member_id) or NO_PARTITIONS

    @property
    def subscribers(self) -> Mapping[str, int]:
        """Number of members that subscribe to each topic."""
        return self._subscribers

    def subscribed_names(self) -> Iterable[str]:
        return self._subscribers.keys()

    def set_member(self, member: M, offset: int) -> None:
        before = self.members.get(member.member_id)
        if before is not None:
            self._count(before, -1)
        self._count(member, 1)
        super().set_member(member, offset)

    def remove_member(self, member_id: str, offset: int) -> None:
        before = self.members.get(member_id)
        if before is not None:
            self._count(before, -1)
        super().remove_member(member_id, offset)

    def _count(self, member: M, by: int) -> None:
        """Add `by` (1 or -1) to the counts of the topics that a member subscribes to."""
        count_topics(self._subscribers, member.subscribed_topics, by)

    def check_invariants(self) -> None:
        """Assert the invariants of the group."""
        super().check_invariants()
        members = self.members.values()
        subscribed = Counter(name for member in members for name in member.subscribed_topics)
        assert +self._subscribers == subscribed


def count_topics(counts: Counter[str], names: Iterable[str], by: int) -> None:
    """Add `by` to the count of each of the topics; remove topics whose count is 0."""
    for name in names:
        counts[name] += by
        if not counts[name]:
            del counts[name]
