"""Timers of a streams group: sessions of members, the time to revoke tasks, and the delay of the first
target.

A member is removed when its session timeout or its time to revoke tasks has passed.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kcompat.group.kinds.streams.member import StreamsMemberState
from kcompat.group.kinds.streams.members import StreamsMembers
from kcompat.group.kinds.streams.records import RECORDS
from kcompat.group.modern.expiry import expire, revocation_key
from kcompat.group.modern.own_settings import settings_of
from kcompat.group.presence import session_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.group.base import GroupTransition
    from kcompat.group.kinds.streams.member import StreamsMember


def fence(transition: GroupTransition, group: StreamsMembers, member: StreamsMember) -> None:
    """Remove a member: free its tasks, and raise the group epoch so that a new target is computed."""
    RECORDS.write_member_tombstones(transition, group.group_id, member.member_id)
    metadata_hash = group.header.metadata_hash
    RECORDS.write_epoch_on(transition, group.group_id, group.group_epoch + 1, metadata_hash, group.basis)
    transition.once_appended(partial(_cancel, group_id=group.group_id, member_id=member.member_id))


def keep_alive(transition: GroupTransition, group_id: str, member_id: str) -> None:
    """Restart a member's session: a member that sends no request within its session timeout is removed."""
    timeout_ms = settings_of(
        transition.shard.image(), transition.shard.config.streams, group_id
    ).session_timeout_ms
    expire(transition, session_key(group_id, member_id), timeout_ms, StreamsMembers, fence)


def watch_revocation(transition: GroupTransition, group_id: str, member: StreamsMember) -> None:
    """Start the timer within which a member has to revoke tasks, or cancel it if none are left to revoke.

    The timer lasts for the member's rebalance timeout; a member that exceeds it is removed.
    """
    key, epoch = revocation_key(group_id, member.member_id), member.member_epoch
    if member.state is StreamsMemberState.UNREVOKED_TASKS:
        timeout_ms = member.rebalance_timeout_ms
        expire(
            transition, key, timeout_ms, StreamsMembers, fence, lambda member: member.member_epoch == epoch
        )
    else:
        transition.shard.timers.cancel(key)


def cancel_all(transition: GroupTransition, group_id: str, member_ids: Iterable[str]) -> None:
    """Cancel the timers of a group and of its members `member_ids`."""
    for member_id in member_ids:
        _cancel(transition, group_id, member_id)
    transition.shard.timers.cancel(delay_key(group_id))


def delay_key(group_id: str) -> tuple[str, str]:
    """Return the key of the timer that delays the first target assignment until more members have joined."""
    return ("first target", group_id)


def _cancel(transition: GroupTransition, group_id: str, member_id: str) -> None:
    transition.shard.timers.cancel(session_key(group_id, member_id))
    transition.shard.timers.cancel(revocation_key(group_id, member_id))
