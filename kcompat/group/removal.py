"""Removal of groups and offsets: DeleteGroups, deleted topics, and retention (KIP-211)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcompat.group.commits import write_offset_tombstone
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.group.base import Group, GroupTransition
    from kcompat.group.offsets import CommittedOffset
    from kcompat.topics import TopicPartition

MAX_TOMBSTONES = 1000
"""Maximum number of tombstones that one operation writes for many groups, so that its batch fits the topic's
limit.
"""


class Doomed(NamedTuple):
    """Offset to delete, of a deleted topic's partition, with the offset of its record."""

    group_id: str
    partition: TopicPartition
    place: int


def delete_group(transition: GroupTransition, group_id: str) -> ErrorCode:
    """Delete a group without members and its offsets, those in open transactions included."""
    group = transition.shard.groups.get(group_id)
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    error = group.delete_error()
    if error != ErrorCode.NONE:
        return error
    offsets = transition.shard.offsets.get(group_id)
    for partition in offsets.partitions() if offsets is not None else ():
        write_offset_tombstone(transition, group_id, partition)
    _delete_group(transition, group_id, group)
    return ErrorCode.NONE


def forget_topics(transition: GroupTransition, gone: Callable[[TopicPartition], bool]) -> list[Doomed]:
    """Delete offsets of partitions that no longer exist; return the remaining ones for `forget`."""
    doomed = [
        Doomed(group_id, partition, offsets.last_commit(partition))
        for group_id, offsets in transition.shard.offsets.items()
        for partition in offsets.partitions()
        if gone(partition)
    ]
    return forget(transition, doomed)


def forget(transition: GroupTransition, doomed: list[Doomed]) -> list[Doomed]:
    """Delete some of these offsets, except those that were committed again because their topic was created
    again.

    Returns the remaining ones.
    """
    for group_id, partition, place in doomed[-MAX_TOMBSTONES:]:
        offsets = transition.shard.offsets.get(group_id)
        if offsets is not None and offsets.last_commit(partition) == place:
            write_offset_tombstone(transition, group_id, partition)
    return doomed[:-MAX_TOMBSTONES]


def expire(transition: GroupTransition) -> bool:
    """Delete expired offsets, and empty groups without offsets; return False if there may be more."""
    left = MAX_TOMBSTONES
    for group_id, group in list(transition.shard.groups.items()):
        offsets = transition.shard.offsets.get(group_id)
        held = list(offsets.items()) if offsets is not None else []
        expired = [
            partition
            for partition, committed in held
            if offsets is not None
            and not offsets.is_unstable(partition)
            and _is_expired(group, partition[0], committed, transition)
        ][:left]
        for partition in expired:
            write_offset_tombstone(transition, group_id, partition)
        keeps = len(held) > len(expired) or (offsets is not None and bool(offsets.staged))
        left -= len(expired)
        if group.is_unused and not keeps:
            _delete_group(transition, group_id, group)
            left -= 1
        if left <= 0:
            return False
    return True


def _is_expired(group: Group, topic: str, committed: CommittedOffset, transition: GroupTransition) -> bool:
    """Return whether an offset's retention, of the client or the broker, is over and its topic unused."""
    start = group.retention_start(committed)
    if start is None or group.subscribes_to(topic):
        return False
    if committed.expire_timestamp >= 0:
        return transition.now_ms >= committed.expire_timestamp
    return transition.now_ms - start >= transition.shard.config.offsets_retention_ms


def _delete_group(transition: GroupTransition, group_id: str, group: Group) -> None:
    """Write the tombstones of the group's records, and drop the group once it has no offsets left."""
    group.write_tombstones(transition)

    def forget(transition: GroupTransition, error: ErrorCode) -> None:
        if error == ErrorCode.NONE:
            transition.shard.forget_if_vacant(group_id)

    transition.then(forget)
