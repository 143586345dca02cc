"""The timers that a member of a consumer group may have, by their keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcompat.group.base import GroupTurn

Key = tuple[str, str, str]


def session_key(group_id: str, member_id: str) -> Key:
    """The timer of a member's session."""
    return ("session", group_id, member_id)


def revocation_key(group_id: str, member_id: str) -> Key:
    """The timer of a member that has partitions to give up."""
    return ("revocation", group_id, member_id)


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
