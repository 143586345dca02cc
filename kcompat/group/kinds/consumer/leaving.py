"""Members leave a consumer group, or are taken out of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.group.kinds.consumer import timers
from kcompat.group.kinds.consumer.member import NO_EPOCHS
from kcompat.group.kinds.consumer.records import RECORDS
from kcompat.group.modern.heartbeat import LEAVE_FOR_A_WHILE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.group.base import GroupTurn
    from kcompat.group.kinds.consumer.member import ConsumerMember
    from kcompat.group.kinds.consumer.roster import ConsumerRoster


def fence(turn: GroupTurn, group: ConsumerRoster, members: Sequence[ConsumerMember]) -> None:
    """Take members out: what they had is free, and the group needs another target assignment. A group that
    is left with classic members alone becomes a classic one.
    """
    if turn.shard.conversions.downgrade(turn, group.group_id, {member.member_id for member in members}):
        return
    subscriptions = group.subscriptions()
    for member in members:
        RECORDS.bury_member(turn, group.group_id, member.member_id)
        subscriptions.count(member, -1)
    for pattern in sorted(group.patterns.latest.keys() - subscriptions.resolved.keys()):
        RECORDS.bury_pattern(turn, group.group_id, pattern)
    metadata_hash = turn.shard.hashes.of(subscriptions.topics(), turn.shard.image())
    RECORDS.write_epoch(turn, group.group_id, group.group_epoch + 1, metadata_hash)
    turn.once_appended(partial(_forget, group_id=group.group_id, members=members))


def _forget(turn: GroupTurn, group_id: str, members: Sequence[ConsumerMember]) -> None:
    for member in members:
        timers.cancel(turn, group_id, member.member_id)


def leave_for_a_while(turn: GroupTurn, group_id: str, member: ConsumerMember) -> None:
    """A static member restarts: it keeps its partitions for whoever comes back with its instance id.

    That one may commit their offsets whatever its epoch is.
    """
    kept = {topic: dict.fromkeys(partitions, 0) for topic, partitions in member.assigned.items()}
    away = replace(member, member_epoch=LEAVE_FOR_A_WHILE, assigned=kept, revoking=NO_EPOCHS)
    RECORDS.write_current(turn, group_id, away)
