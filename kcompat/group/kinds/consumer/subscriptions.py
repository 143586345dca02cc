"""Topics and patterns that the members of a consumer group subscribe to."""

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
"""Minimum time in ms between two scans of a group's patterns."""


class ResolvedPattern(Struct, frozen=True):
    """Topics that a pattern matched, and the time in ms at which it was matched with all topics."""

    topics: frozenset[str]
    timestamp_ms: int


class PatternChange(Enum):
    """The change of a member's pattern by a heartbeat."""

    NONE = 0
    UNRESOLVED = 1
    """The member has another pattern, which has not been matched with the topics yet."""
    RESOLVED = 2
    """The member has another pattern, which has been matched with the topics, or no longer has a pattern."""


def is_due(
    subscribed: Collection[str],
    resolved: Mapping[str, ResolvedPattern],
    now_ms: int,
    *,
    is_new: bool,
    topics_made_ms: int,
    refresh_interval_ms: int,
) -> bool:
    """Return whether the patterns of a group have to be matched with the topics again.

    This is the case if the heartbeat has a new pattern, if a pattern has not been matched yet, if topics were
    created since the last scan (`topics_made_ms` is the time of the latest ones), and every
    `refresh_interval_ms`.
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
    """Number of members by topic and by pattern, and the topics that each pattern matches."""

    members: int
    names: Counter[str]
    patterns: Counter[str]
    resolved: dict[str, ResolvedPattern]

    def count(self, member: ConsumerMember, by: int) -> None:
        """Add `by` (1 or -1) to the counts of a member's subscription. A pattern without members matches no
        topics.
        """
        self.members += by
        count_topics(self.names, member.subscribed_topics, by)
        if member.subscribed_regex:
            count_topics(self.patterns, (member.subscribed_regex,), by)
            if member.subscribed_regex not in self.patterns:
                self.resolved.pop(member.subscribed_regex, None)

    def topics(self) -> set[str]:
        """Return all topics that the group depends on."""
        return set(self.names).union(*(pattern.topics for pattern in self.resolved.values()))

    @property
    def is_homogeneous(self) -> bool:
        """Whether all members subscribe to the same topics: by name, or all by one pattern."""
        if not self.patterns:
            return all(count == self.members for count in self.names.values())
        return not self.names and next(iter(self.patterns.values())) == self.members


def topics_of(member: ConsumerMember, resolved: Mapping[str, ResolvedPattern]) -> frozenset[str]:
    """Return the topics of one member. A pattern that has not been matched yet has none."""
    pattern = resolved.get(member.subscribed_regex) if member.subscribed_regex else None
    return member.subscribed_topics if pattern is None else member.subscribed_topics | pattern.topics
