"""The end of groups and offsets: DeleteGroups, deleted topics, and retention (KIP-211)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.classic import rebalance
from kcompat.group.classic.state import GroupState
from kcompat.group.commits import bury
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.group_records import GroupMetadataKey

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.group.classic.group import ClassicGroup
    from kcompat.group.offsets import CommittedOffset
    from kcompat.group.requests import TopicPartition
    from kcompat.group.turn import Turn

MAX_TOMBSTONES = 1000
"""Most tombstones that one operation writes of many groups, to keep its batch below the topic's limit."""


def delete_group(turn: Turn, group_id: str) -> ErrorCode:
    """Delete a group that has no members, and its offsets."""
    group = turn.shard.groups.get(group_id)
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if not group.is_in(GroupState.EMPTY):
        return ErrorCode.NON_EMPTY_GROUP
    offsets = turn.shard.offsets.get(group_id)
    for partition in [partition for partition, _ in offsets.items()] if offsets is not None else ():
        bury(turn, group_id, partition)
    for member_id in sorted(group.pending_members):
        rebalance.remove_pending(turn, group, member_id)
    _bury_group(turn, group)
    return ErrorCode.NONE


def forget_topics(turn: Turn, gone: Callable[[TopicPartition], bool]) -> bool:
    """Delete the offsets of partitions that exist no more; False if there may be more."""
    left = MAX_TOMBSTONES
    for group_id, offsets in turn.shard.offsets.items():
        for partition in [partition for partition, _ in offsets.items() if gone(partition)][:left]:
            bury(turn, group_id, partition)
            left -= 1
        if left <= 0:
            return False
    return True


def expire(turn: Turn) -> bool:
    """Delete offsets past their retention, and empty groups without any; False if there may be more."""
    left = MAX_TOMBSTONES
    for group_id, group in list(turn.shard.groups.items()):
        offsets = turn.shard.offsets.get(group_id)
        held = list(offsets.items()) if offsets is not None else []
        expired = [
            partition
            for partition, committed in held
            if offsets is not None
            and not offsets.is_unstable(partition)
            and _is_expired(group, partition[0], committed, turn)
        ][:left]
        for partition in expired:
            bury(turn, group_id, partition)
        keeps = len(held) > len(expired) or (offsets is not None and bool(offsets.staged))
        left -= len(expired)
        if group.is_in(GroupState.EMPTY) and not keeps and not group.pending_members:
            _bury_group(turn, group)
            left -= 1
        if left <= 0:
            return False
    return True


def _is_expired(group: ClassicGroup, topic: str, committed: CommittedOffset, turn: Turn) -> bool:
    """Whether an offset's time has come.

    It counts from when the group became empty, or from the commit: where the group's record is too old to
    tell, where it never was a group (no protocol type), and for topics that a stable consumer group consumes
    no more.
    """
    since = committed.commit_timestamp
    if group.protocol_type is not None:
        if group.is_in(GroupState.EMPTY):
            since = group.state_timestamp if group.state_timestamp >= 0 else since
        elif not (group.is_in(GroupState.STABLE) and group.is_consumer_group) or group.subscribes_to(topic):
            return False
    if committed.expire_timestamp >= 0:
        return turn.now_ms >= committed.expire_timestamp
    return turn.now_ms - since >= turn.config.offsets_retention_ms


def _bury_group(turn: Turn, group: ClassicGroup) -> None:
    """Write the group's tombstone if it has a record, and drop it once nothing of it is left."""
    group_id = group.group_id
    if group.stored is not None:
        turn.write(GroupMetadataKey(group=group_id), None)

    def forget(turn: Turn, error: ErrorCode) -> None:
        if error == ErrorCode.NONE:
            turn.shard.forget_if_vacant(group_id)

    turn.then(forget)
