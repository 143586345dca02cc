"""The streams group that a request is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.kinds.classic.group import ClassicGroup
from kcompat.group.kinds.streams.group import StreamsGroup
from kcompat.group.kinds.streams.requests import DescribedStreamsGroup
from kcompat.group.modern.refusal import Refusal, no_such_group
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.group.base import Groups, GroupTurn


def find_group(shard: Groups, group_id: str) -> StreamsGroup | Refusal:
    """The streams group of this id."""
    group = shard.groups.get(group_id)
    if isinstance(group, StreamsGroup):
        return group
    return no_such_group(group_id, group, "streams")


def find_for_member(turn: GroupTurn, group_id: str) -> StreamsGroup | Refusal:
    """The streams group in which a member goes on."""
    if turn.shard.groups.get(group_id) is None:
        return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"Streams group {group_id} not found.")
    return find_group(turn.shard, group_id)


def find_or_make(turn: GroupTurn, group_id: str) -> StreamsGroup | Refusal:
    """The streams group of this id, a new one where there is none, or a classic one without members: it comes
    to be when its first records are replayed.
    """
    group: object = turn.shard.groups.get(group_id)
    if isinstance(group, ClassicGroup) and group.gives_way:
        group.write_tombstones(turn)
    elif group is not None:
        return find_group(turn.shard, group_id)
    return StreamsGroup(group_id, turn.shard.timeline)


def describe(shard: Groups, group_id: str) -> DescribedStreamsGroup:
    """StreamsGroupDescribe of one group."""
    group = find_group(shard, group_id)
    if isinstance(group, Refusal):
        return DescribedStreamsGroup(group_id, group.error, group.message)
    return group.described_as_streams()
