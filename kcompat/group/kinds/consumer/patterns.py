"""The topics that the patterns of a group match, and the time to match them again. Pure.

Kafka's counterparts: `ResolvedRegularExpression`, and the conditions in `maybeUpdateRegularExpressions`.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

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
