"""The subscriptions of all members of a group, counted by topic and pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.group.modern.subscribed import count_topics

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping

    from kcompat.group.kinds.consumer.member import ConsumerMember
    from kcompat.group.kinds.consumer.patterns import ResolvedPattern


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
