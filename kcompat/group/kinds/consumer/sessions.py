"""Members of a consumer group that leave or whose timers end.

The timers of a member are its session, the time to revoke partitions, and, for a classic member, the times to
join and to sync.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.group.kinds.consumer.member import NO_EPOCHS, ConsumerMemberState
from kcompat.group.kinds.consumer.members import ConsumerMembers
from kcompat.group.kinds.consumer.records import RECORDS
from kcompat.group.modern.expiry import expire, revocation_key
from kcompat.group.modern.heartbeat import LEAVE_FOR_A_WHILE
from kcompat.group.modern.own_settings import settings_of
from kcompat.group.presence import session_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.group.base import GroupTransition
    from kcompat.group.kinds.consumer.member import ConsumerMember
    from kcompat.group.modern.expiry import Key


def join_key(group_id: str, member_id: str) -> Key:
    """Return the key of the timer of a classic member that was told to join again."""
    return ("rejoin", group_id, member_id)


def sync_key(group_id: str, member_id: str) -> Key:
    """Return the key of the timer of a classic member that has joined and has yet to sync."""
    return ("resync", group_id, member_id)


def cancel(transition: GroupTransition, group_id: str, member_id: str) -> None:
    """Cancel all timers of a member."""
    for key in (session_key, revocation_key, join_key, sync_key):
        transition.shard.timers.cancel(key(group_id, member_id))


def fence(transition: GroupTransition, group: ConsumerMembers, members: Sequence[ConsumerMember]) -> None:
    """Remove members: their partitions become free, and the group needs a new target assignment.

    A group that has only classic members left becomes a classic group.
    """
    if transition.shard.conversions.downgrade(
        transition, group.group_id, {member.member_id for member in members}
    ):
        return
    subscriptions = group.subscriptions()
    for member in members:
        RECORDS.write_member_tombstones(transition, group.group_id, member.member_id)
        subscriptions.count(member, -1)
    for pattern in sorted(group.patterns.latest.keys() - subscriptions.resolved.keys()):
        RECORDS.write_pattern_tombstone(transition, group.group_id, pattern)
    metadata_hash = transition.shard.hashes.of(subscriptions.topics(), transition.shard.image())
    RECORDS.write_epoch(transition, group.group_id, group.group_epoch + 1, metadata_hash)
    transition.once_appended(partial(_forget, group_id=group.group_id, members=members))


def _forget(transition: GroupTransition, group_id: str, members: Sequence[ConsumerMember]) -> None:
    for member in members:
        cancel(transition, group_id, member.member_id)


def leave_for_a_while(transition: GroupTransition, group_id: str, member: ConsumerMember) -> None:
    """Keep the partitions of a static member that is restarting, for the next member with its instance id.

    That member may commit their offsets in any epoch.
    """
    kept = {topic: dict.fromkeys(partitions, 0) for topic, partitions in member.assigned.items()}
    away = replace(member, member_epoch=LEAVE_FOR_A_WHILE, assigned=kept, revoking=NO_EPOCHS)
    RECORDS.write_current(transition, group_id, away)


def keep_alive(transition: GroupTransition, group_id: str, member_id: str, timeout_ms: int) -> None:
    """Restart a member's session: the member is removed unless it sends a request within `timeout_ms`."""
    _expire(transition, session_key(group_id, member_id), timeout_ms, lambda _member: True)


def watch(transition: GroupTransition, group_id: str, member: ConsumerMember) -> None:
    """Restart the session of a member, with the session timeout of a classic member's own choice."""
    if member.classic is None:
        timeout_ms = settings_of(
            transition.shard.image(), transition.shard.config.consumer, group_id
        ).session_timeout_ms
    else:
        timeout_ms = member.classic.session_timeout_ms
    keep_alive(transition, group_id, member.member_id, timeout_ms)


def watch_revocation(transition: GroupTransition, group_id: str, member: ConsumerMember) -> None:
    """Start the rebalance timeout in which a member has to revoke partitions; cancel it if none are left to
    revoke.

    For a classic member the timer of its next join applies instead.
    """
    key, epoch = revocation_key(group_id, member.member_id), member.member_epoch
    if member.state is not ConsumerMemberState.UNREVOKED_PARTITIONS or member.classic is not None:
        transition.shard.timers.cancel(key)
        return
    _expire(transition, key, member.rebalance_timeout_ms, lambda member: member.member_epoch == epoch)


def await_join(transition: GroupTransition, group_id: str, member: ConsumerMember) -> None:
    """Start the rebalance timeout of a classic member that was told to join again; a running timer is not
    restarted.
    """
    key = join_key(group_id, member.member_id)
    if not transition.shard.timers.is_set(key):
        _expire(transition, key, member.rebalance_timeout_ms, _is_classic)


def joined(transition: GroupTransition, group_id: str, member: ConsumerMember) -> None:
    """Start the rebalance timeout within which a classic member that has joined has to sync."""
    transition.shard.timers.cancel(join_key(group_id, member.member_id))
    key = sync_key(group_id, member.member_id)
    _expire(transition, key, member.rebalance_timeout_ms, _is_classic)


def synced(transition: GroupTransition, group_id: str, member: ConsumerMember) -> None:
    """Cancel the sync timer of a classic member that has sent its sync."""
    transition.shard.timers.cancel(sync_key(group_id, member.member_id))


def _is_classic(member: ConsumerMember) -> bool:
    return member.classic is not None


def _expire(
    transition: GroupTransition, key: Key, delay_ms: int, is_due: Callable[[ConsumerMember], bool]
) -> None:
    expire(transition, key, delay_ms, ConsumerMembers, _fence, is_due)


def _fence(transition: GroupTransition, group: ConsumerMembers, member: ConsumerMember) -> None:
    fence(transition, group, [member])
