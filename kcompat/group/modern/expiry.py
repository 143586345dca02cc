"""Timers at whose end a member is taken out, however often that cannot be written (as Kafka's retry does)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcompat.coordinator.turn import on_turn
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.group.base import GroupTurn

Key = tuple[str, str, str]
"""The subject of a timer, the id of the group, and the id of the member."""

RETRY_MS = 500
"""Time in ms after which a member is taken out whose tombstones could not be written."""


def revocation_key(group_id: str, member_id: str) -> Key:
    """The timer of a member that has something to give up."""
    return ("revocation", group_id, member_id)


def expire(
    turn: GroupTurn,
    key: Key,
    delay_ms: int,
    wanted: type[Any],
    fence: Callable[[GroupTurn, Any, Any], None],
    is_due: Callable[[Any], bool] = lambda _member: True,
) -> None:
    """Take out the member that a key names after this time, unless the key is set again or cancelled before.

    `fence(turn, group, member)` takes it out, if its group is of the class `wanted` and still has it, and
    `is_due(member)` says so.
    """
    _, group_id, member_id = key

    def decide(turn: GroupTurn) -> None:
        group: object = turn.shard.groups.get(group_id)
        if not isinstance(group, wanted):
            return
        member = group.members.get(member_id)
        if member is not None and is_due(member):
            fence(turn, group, member)
            turn.then(again)

    def again(turn: GroupTurn, error: ErrorCode) -> None:
        if error is not ErrorCode.NONE and not turn.shard.timers.is_set(key):
            expire(turn, key, RETRY_MS, wanted, fence, is_due)

    turn.shard.timers.schedule(key, delay_ms, on_turn(decide))
