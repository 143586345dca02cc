"""Matching of a group's patterns with the names of all topics, in slices between which other requests are
served.

Kafka's counterparts: `maybeUpdateRegularExpressions`, `TopicRegexResolver`, `handleRegularExpressionsResult`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.coordinator.transition import as_operation
from kcompat.group.kinds.consumer.members import ConsumerMembers
from kcompat.group.kinds.consumer.records import RECORDS
from kcompat.group.kinds.consumer.subscriptions import PatternChange, ResolvedPattern, is_due
from kcompat.group.modern.heartbeat import Refusal
from kcompat.protocol.errors import ErrorCode
from kcompat.regex.parser import MAX_LENGTH
from kcompat.regex.pattern import problem
from kcompat.regex.scan import Scan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.group.base import GroupTransition
    from kcompat.group.kinds.consumer.member import ConsumerMember

SHOWN = 100
"""Maximum number of characters of a pattern in a message."""

STEPS_IN_A_SLICE = 20_000
"""Number of matcher steps in one iteration of the event loop: a few milliseconds of work."""


def update(
    transition: GroupTransition,
    group: ConsumerMembers,
    before: ConsumerMember,
    after: ConsumerMember,
    may_describe: Callable[[str], bool],
) -> PatternChange | Refusal:
    """Record a member's pattern, and begin a scan if one is due.

    Topics that the client may not describe are not matched.
    """
    change, is_new = PatternChange.NONE, False
    if before.subscribed_regex != after.subscribed_regex:
        found = _change(transition, group, before.subscribed_regex, after.subscribed_regex)
        if isinstance(found, Refusal):
            return found
        change, is_new = found
    if not is_new and not group.pattern_subscribers:
        return change
    if transition.shard.timers.is_set(_key(group.group_id)):
        return change
    patterns = group.pattern_subscribers
    if before.subscribed_regex != after.subscribed_regex:
        patterns = group.subscriptions_with(before, after).patterns
    settings = transition.shard.config.consumer
    if is_due(
        patterns,
        group.patterns.latest,
        transition.now_ms,
        is_new=is_new,
        topics_made_ms=transition.shard.topics_made_ms,
        refresh_interval_ms=settings.regex_refresh_interval_ms,
    ):
        _begin(transition, group.group_id, sorted(patterns), may_describe)
    return change


def _change(
    transition: GroupTransition, group: ConsumerMembers, old: str, new: str
) -> tuple[PatternChange, bool] | Refusal:
    """Check a changed pattern, and return whether it has to be matched with the topics first."""
    if old and group.pattern_subscribers[old] == 1:
        RECORDS.write_pattern_tombstone(transition, group.group_id, old)
    if not new:
        return PatternChange.RESOLVED, False
    if not group.pattern_subscribers[new]:
        wrong = problem(new)
        if wrong is not None:
            return Refusal(
                ErrorCode.INVALID_REGULAR_EXPRESSION,
                f"SubscribedTopicRegex `{_shown(new)}` is not a valid regular expression: {wrong}.",
            )
        return PatternChange.UNRESOLVED, True
    is_resolved = group.patterns.get(new) is not None
    return PatternChange.RESOLVED if is_resolved else PatternChange.UNRESOLVED, False


def _begin(
    transition: GroupTransition, group_id: str, texts: list[str], may_describe: Callable[[str], bool]
) -> None:
    """Begin to match the patterns with the present topics, after this operation.

    Patterns that Kafka has stored and that are not valid here match no topics.
    """
    scan = Scan(texts, list(transition.shard.image().topics))
    began_ms = transition.now_ms

    def go_on(transition: GroupTransition) -> None:
        if not scan.run(STEPS_IN_A_SLICE):
            transition.shard.timers.schedule(_key(group_id), 0, as_operation(go_on))
            return
        visible = {text: frozenset(filter(may_describe, names)) for text, names in scan.found.items()}
        resolved = {text: ResolvedPattern(names, began_ms) for text, names in visible.items()}
        _conclude(transition, group_id, resolved)

    transition.shard.timers.schedule(_key(group_id), 0, as_operation(go_on))


def _conclude(transition: GroupTransition, group_id: str, resolved: Mapping[str, ResolvedPattern]) -> None:
    """Write the topics that the patterns match, and raise the group epoch if they have changed."""
    group: object = transition.shard.groups.get(group_id)
    if not isinstance(group, ConsumerMembers):
        return
    subscriptions = group.subscriptions()
    bump = False
    for text, found in resolved.items():
        if not group.pattern_subscribers[text]:
            continue
        known = group.patterns.get(text)
        bump |= found.topics != (known.topics if known is not None else frozenset())
        subscriptions.resolved[text] = found
        RECORDS.write_pattern(transition, group_id, text, found)
    topics, image = subscriptions.topics(), transition.shard.image()
    metadata_hash = transition.shard.hashes.of(topics, image)
    if bump or metadata_hash != group.header.metadata_hash:
        RECORDS.write_epoch(transition, group_id, group.group_epoch + 1, metadata_hash)
        group.refreshed(group.group_epoch + 1, topics, image)


def _shown(pattern: str) -> str:
    """Return a pattern for a message, truncated if it is long."""
    return pattern if len(pattern) <= MAX_LENGTH else f"{pattern[:SHOWN]}..."


def _key(group_id: str) -> tuple[str, str]:
    return ("patterns", group_id)
