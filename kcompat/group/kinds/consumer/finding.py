"""The consumer group that a request is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.kinds.classic.group import ClassicGroup
from kcompat.group.kinds.consumer.group import ConsumerGroup
from kcompat.group.mixed.upgrade import upgrade
from kcompat.group.modern.refusal import Refusal
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.group.base import GroupTurn


def find_group(turn: GroupTurn, group_id: str) -> ConsumerGroup | Refusal:
    """The consumer group of this id."""
    group = turn.shard.groups.get(group_id)
    if group is None:
        return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
    if not isinstance(group, ConsumerGroup):
        return not_a_consumer_group(group_id)
    return group


def find_or_make(turn: GroupTurn, group_id: str, *, creates: bool) -> ConsumerGroup | Refusal:
    """The consumer group of this id. With `creates` a new one where there is none, or a classic group without
    members, or one that is upgraded; it comes to be when its first records are replayed.
    """
    group = turn.shard.groups.get(group_id)
    if isinstance(group, ConsumerGroup):
        return group
    if group is None:
        if not creates:
            return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")
        return ConsumerGroup(group_id, turn.shard.timeline)
    if not creates or not isinstance(group, ClassicGroup):
        return not_a_consumer_group(group_id)
    if not group.gives_way:
        return upgrade(turn, group)
    group.write_tombstones(turn)
    return ConsumerGroup(group_id, turn.shard.timeline)


def not_a_consumer_group(group_id: str) -> Refusal:
    """The id is that of a group of another kind."""
    return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
