"""The timers that a member of a consumer group may have beside that of its session, by their keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.modern.expiry import revocation_key
from kcompat.group.presence import session_key

if TYPE_CHECKING:
    from kcompat.group.base import GroupTurn
    from kcompat.group.modern.expiry import Key


def join_key(group_id: str, member_id: str) -> Key:
    """The timer of a classic member that was told to join again."""
    return ("rejoin", group_id, member_id)


def sync_key(group_id: str, member_id: str) -> Key:
    """The timer of a classic member that has joined and has yet to ask for its partitions."""
    return ("resync", group_id, member_id)


def cancel(turn: GroupTurn, group_id: str, member_id: str) -> None:
    """Nothing more is expected of a member."""
    for key in (session_key, revocation_key, join_key, sync_key):
        turn.shard.timers.cancel(key(group_id, member_id))
