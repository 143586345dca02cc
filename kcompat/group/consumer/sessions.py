"""The timers of members: sessions, and the time a member has to give partitions up."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kcompat.coordinator.turn import on_turn
from kcompat.group.consumer import leaving
from kcompat.group.consumer.member import MemberState
from kcompat.group.consumer.roster import ConsumerRoster

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.coordinator.operation import ShardOperation
    from kcompat.group.base import Groups, GroupTurn
    from kcompat.group.consumer.member import ConsumerMember


def keep_alive(turn: GroupTurn, group_id: str, member_id: str, timeout_ms: int) -> None:
    """A member gave a sign of life: it is out unless it gives another within `timeout_ms`."""
    turn.shard.timers.schedule(
        leaving.session_key(group_id, member_id), timeout_ms, _on_member(group_id, member_id, _fence)
    )


def watch_revocation(turn: GroupTurn, group_id: str, member: ConsumerMember) -> None:
    """Give a member its rebalance timeout to give partitions up, or stop waiting if it has."""
    key = leaving.revocation_key(group_id, member.member_id)
    if member.state is not MemberState.UNREVOKED_PARTITIONS:
        turn.shard.timers.cancel(key)
        return
    operation = _on_member(group_id, member.member_id, partial(_fence_in_epoch, epoch=member.member_epoch))
    turn.shard.timers.schedule(key, member.rebalance_timeout_ms, operation)


def _fence(turn: GroupTurn, group: ConsumerRoster, member: ConsumerMember) -> None:
    leaving.fence(turn, group, [member])


def _fence_in_epoch(turn: GroupTurn, group: ConsumerRoster, member: ConsumerMember, epoch: int) -> None:
    if member.member_epoch == epoch:
        leaving.fence(turn, group, [member])


def _on_member(
    group_id: str, member_id: str, action: Callable[[GroupTurn, ConsumerRoster, ConsumerMember], None]
) -> ShardOperation[Groups, None]:
    """The operation of a timer: run `action` on the member, if it is still there."""

    def decide(turn: GroupTurn) -> None:
        group: object = turn.shard.groups.get(group_id)
        member = group.members.get(member_id) if isinstance(group, ConsumerRoster) else None
        if isinstance(group, ConsumerRoster) and member is not None:
            action(turn, group, member)

    return on_turn(decide)
