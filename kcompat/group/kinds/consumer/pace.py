"""How often a member is asked to heartbeat: more often than the setting says while its group comes together.

A member hears of what it has to give up, and of what has become free for it, by its heartbeats alone. So
those of a group whose target assignment is new come faster for a while; a group that is at rest keeps to the
setting. The more members there are, the less is gained by it and the more it costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcompat.group.modern.group import Header

NEW_MS = 5_000
"""A target assignment is new for this long."""

LEAST_MS = 250
PER_MEMBER_MS = 5


def interval_ms(setting_ms: int, header: Header, group_epoch: int, members: int, now_ms: int) -> int:
    """The interval to tell a member of a group with so many, which is in this epoch now."""
    if group_epoch <= header.assignment_epoch and now_ms >= header.assignment_timestamp + NEW_MS:
        return setting_ms
    return min(setting_ms, max(LEAST_MS, PER_MEMBER_MS * members))
