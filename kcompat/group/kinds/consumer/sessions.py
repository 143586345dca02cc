"""The timers of members: sessions, the time to give partitions up, and that of classic ones to join and sync.

A member that is lost to one of them is taken out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.kinds.consumer import leaving, timers
from kcompat.group.kinds.consumer.member import ConsumerMemberState
from kcompat.group.kinds.consumer.roster import ConsumerRoster
from kcompat.group.modern.expiry import expire, revocation_key
from kcompat.group.modern.own_settings import settings_of
from kcompat.group.presence import session_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.group.base import GroupTurn
    from kcompat.group.kinds.consumer.member import ConsumerMember
    from kcompat.group.modern.expiry import Key


def keep_alive(turn: GroupTurn, group_id: str, member_id: str, timeout_ms: int) -> None:
    """A member gave a sign of life: it is out unless it gives another within `timeout_ms`."""
    _expire(turn, session_key(group_id, member_id), timeout_ms, lambda _member: True)


def watch(turn: GroupTurn, group_id: str, member: ConsumerMember) -> None:
    """Begin the session of a member anew. One that uses the classic protocol has said how long it is."""
    if member.classic is None:
        timeout_ms = settings_of(turn.shard, turn.shard.config.consumer, group_id).session_timeout_ms
    else:
        timeout_ms = member.classic.session_timeout_ms
    keep_alive(turn, group_id, member.member_id, timeout_ms)


def watch_revocation(turn: GroupTurn, group_id: str, member: ConsumerMember) -> None:
    """Give a member its rebalance timeout to give partitions up, or stop waiting if it has. One that uses
    the classic protocol is bound by the time it has to join again.
    """
    key, epoch = revocation_key(group_id, member.member_id), member.member_epoch
    if member.state is not ConsumerMemberState.UNREVOKED_PARTITIONS or member.classic is not None:
        turn.shard.timers.cancel(key)
        return
    _expire(turn, key, member.rebalance_timeout_ms, lambda member: member.member_epoch == epoch)


def await_join(turn: GroupTurn, group_id: str, member: ConsumerMember) -> None:
    """A classic member has been told to join again: it has its rebalance timeout for that, from the first
    time on.
    """
    key = timers.join_key(group_id, member.member_id)
    if not turn.shard.timers.is_set(key):
        _expire(turn, key, member.rebalance_timeout_ms, _is_classic)


def joined(turn: GroupTurn, group_id: str, member: ConsumerMember) -> None:
    """A classic member has joined: it is out unless it asks for its partitions within its rebalance
    timeout.
    """
    turn.shard.timers.cancel(timers.join_key(group_id, member.member_id))
    key = timers.sync_key(group_id, member.member_id)
    _expire(turn, key, member.rebalance_timeout_ms, _is_classic)


def synced(turn: GroupTurn, group_id: str, member: ConsumerMember) -> None:
    """A classic member has asked for its partitions."""
    turn.shard.timers.cancel(timers.sync_key(group_id, member.member_id))


def _is_classic(member: ConsumerMember) -> bool:
    return member.classic is not None


def _expire(turn: GroupTurn, key: Key, delay_ms: int, is_due: Callable[[ConsumerMember], bool]) -> None:
    expire(turn, key, delay_ms, ConsumerRoster, _fence, is_due)


def _fence(turn: GroupTurn, group: ConsumerRoster, member: ConsumerMember) -> None:
    leaving.fence(turn, group, [member])
