"""Members leave a consumer group, or are taken out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.group.consumer import records
from kcompat.group.consumer.member import NO_EPOCHS
from kcompat.group.modern.epochs import LEAVE_FOR_A_WHILE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.group.base import GroupTurn
    from kcompat.group.consumer.member import ConsumerMember
    from kcompat.group.consumer.roster import ConsumerRoster


def fence(turn: GroupTurn, group: ConsumerRoster, members: Sequence[ConsumerMember]) -> None:
    """Take members out: what they had is free, and the group needs another target assignment."""
    subscriptions = group.subscriptions()
    for member in members:
        records.bury_member(turn, group.group_id, member.member_id)
        subscriptions.count(member, -1)
        cancel_timers(turn, group.group_id, member.member_id)
    for pattern in sorted(dict(group.patterns.items()).keys() - subscriptions.resolved.keys()):
        records.bury_pattern(turn, group.group_id, pattern)
    metadata_hash = turn.shard.hashes.of(subscriptions.topics(), turn.shard.image())
    records.write_epoch(turn, group.group_id, group.group_epoch + 1, metadata_hash)


def leave_for_a_while(turn: GroupTurn, group_id: str, member: ConsumerMember) -> None:
    """A static member restarts: it keeps its partitions for whoever comes back with its instance id.

    That one may commit their offsets whatever its epoch is.
    """
    kept = {topic: dict.fromkeys(partitions, 0) for topic, partitions in member.assigned.items()}
    away = replace(member, member_epoch=LEAVE_FOR_A_WHILE, assigned=kept, revoking=NO_EPOCHS)
    records.write_current(turn, group_id, away)


def cancel_timers(turn: GroupTurn, group_id: str, member_id: str) -> None:
    """Nothing more is expected of a member."""
    turn.shard.timers.cancel(session_key(group_id, member_id))
    turn.shard.timers.cancel(revocation_key(group_id, member_id))


def session_key(group_id: str, member_id: str) -> tuple[str, str, str]:
    """The timer of a member's session."""
    return ("session", group_id, member_id)


def revocation_key(group_id: str, member_id: str) -> tuple[str, str, str]:
    """The timer of a member that has partitions to give up."""
    return ("revocation", group_id, member_id)
