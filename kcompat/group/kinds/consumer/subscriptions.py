"""The topics and patterns that the members of a consumer group subscribe to."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.group.modern.subscribed import count_topics

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Collection, Mapping

    from kcompat.group.kinds.consumer.member import ConsumerMember


MIN_INTERVAL_MS = 10_000
"""The patterns of a group are not looked at again within this time."""


class ResolvedPattern(Struct, frozen=True):
    """The topics that a pattern matched, and when it was compared with all there were, in ms."""

    topics: frozenset[str]
    timestamp_ms: int


class PatternChange(Enum):
    """The change of a member's pattern by a heartbeat."""

    NONE = 0
    UNRESOLVED = 1
    """The member has another pattern, whose topics are not known yet."""
    RESOLVED = 2
    """The member has another pattern, whose topics are known, or no pattern any more."""


def is_due(
    subscribed: Collection[str],
    resolved: Mapping[str, ResolvedPattern],
    now_ms: int,
    *,
    is_new: bool,
    topics_made_ms: int,
    refresh_interval_ms: int,
) -> bool:
    """Whether the patterns that members subscribe to are to be compared with the topics again.

    They are if the heartbeat brought a new one, if the topics of one are not known, if topics were made after
    the last time (`topics_made_ms` is when the latest were), and every `refresh_interval_ms`.
    """
    if not subscribed:
        return False
    last_ms = min((pattern.timestamp_ms for pattern in resolved.values()), default=None)
    if last_ms is None:
        return True
    if now_ms <= last_ms + MIN_INTERVAL_MS:
        return False
    return (
        is_new
        or len(subscribed) != len(resolved)
        or last_ms < topics_made_ms
        or now_ms > last_ms + refresh_interval_ms
    )


class SubscriptionCounts(Struct):
    """How many members name each topic and each pattern, and what topics each pattern stands for."""

    members: int
    names: Counter[str]
    patterns: Counter[str]
    resolved: dict[str, ResolvedPattern]

    def count(self, member: ConsumerMember, by: int) -> None:
        """Count a member once more, or once less. A pattern that nobody has any more stands for nothing."""
        self.members += by
        count_topics(self.names, member.subscribed_topics, by)
        if member.subscribed_regex:
            count_topics(self.patterns, (member.subscribed_regex,), by)
            if member.subscribed_regex not in self.patterns:
                self.resolved.pop(member.subscribed_regex, None)

    def topics(self) -> set[str]:
        """All topics that the group depends on."""
        return set(self.names).union(*(pattern.topics for pattern in self.resolved.values()))

    @property
    def is_homogeneous(self) -> bool:
        """Whether all members subscribe to the same topics: by name, or all by one pattern."""
        if not self.patterns:
            return all(count == self.members for count in self.names.values())
        return not self.names and next(iter(self.patterns.values())) == self.members


def topics_of(member: ConsumerMember, resolved: Mapping[str, ResolvedPattern]) -> frozenset[str]:
    """The topics of one member. A pattern that is not resolved yet stands for none."""
    pattern = resolved.get(member.subscribed_regex) if member.subscribed_regex else None
    return member.subscribed_topics if pattern is None else member.subscribed_topics | pattern.topics
