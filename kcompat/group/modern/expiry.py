"""Timers that remove a member, and repeat the attempt until the removal is written (as Kafka does)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcompat.coordinator.transition import as_operation
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.group.base import GroupTransition

Key = tuple[str, str, str]
"""Purpose of a timer, id of the group, and id of the member."""

_REASONS = {
    "session": "no request for its session timeout of {} ms",
    "revocation": "it did not give up partitions within its rebalance timeout of {} ms",
    "rejoin": "it did not join again within its rebalance timeout of {} ms",
    "resync": "it sent no SyncGroup within its rebalance timeout of {} ms",
}
"""Reasons for the log, by the purpose of a timer."""

RETRY_MS = 500
"""Milliseconds until another attempt to remove a member whose tombstones could not be written."""


def revocation_key(group_id: str, member_id: str) -> Key:
    """Return the key of the timer within which a member has to revoke partitions or tasks."""
    return ("revocation", group_id, member_id)


def expire(
    transition: GroupTransition,
    key: Key,
    delay_ms: int,
    wanted: type[Any],
    fence: Callable[[GroupTransition, Any, Any], None],
    is_due: Callable[[Any], bool] = lambda _member: True,
) -> None:
    """Remove the member in `key` after `delay_ms`, unless the key is scheduled again or cancelled before.

    `fence(transition, group, member)` removes the member if its group is of the class `wanted`, still has the
    member, and `is_due(member)` is true.
    """
    _, group_id, member_id = key

    def decide(transition: GroupTransition) -> None:
        group: object = transition.shard.groups.get(group_id)
        if not isinstance(group, wanted):
            return
        member = group.members.get(member_id)
        if member is not None and is_due(member):
            transition.shard.events.expired(group_id, member, _REASONS[key[0]].format(delay_ms))
            fence(transition, group, member)
            transition.then(again)

    def again(transition: GroupTransition, error: ErrorCode) -> None:
        if error is not ErrorCode.NONE and not transition.shard.timers.is_set(key):
            expire(transition, key, RETRY_MS, wanted, fence, is_due)

    transition.shard.timers.schedule(key, delay_ms, as_operation(decide))
