"""Timers at whose end a member is taken out, however often that cannot be written (as Kafka's retry does)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.coordinator.turn import on_turn
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.group.base import GroupTurn

Key = tuple[str, str, str]

RETRY_MS = 500
"""After this a member is taken out whose tombstones could not be written."""


def revocation_key(group_id: str, member_id: str) -> Key:
    """The timer of a member that has something to give up."""
    return ("revocation", group_id, member_id)


def expire(turn: GroupTurn, key: Key, delay_ms: int, take_out: Callable[[GroupTurn], bool]) -> None:
    """Run `take_out(turn)` after this time, unless the key is set again or cancelled before. It says whether
    there was anybody to take out.
    """

    def decide(turn: GroupTurn) -> None:
        if take_out(turn):
            turn.then(again)

    def again(turn: GroupTurn, error: ErrorCode) -> None:
        if error is not ErrorCode.NONE and not turn.shard.timers.is_set(key):
            expire(turn, key, RETRY_MS, take_out)

    turn.shard.timers.schedule(key, delay_ms, on_turn(decide))
