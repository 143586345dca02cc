"""The share group that a request is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.kinds.share.group import ShareGroup
from kcompat.group.kinds.share.requests import DescribedShareGroup
from kcompat.group.modern.refusal import Refusal, no_such_group

if TYPE_CHECKING:
    from kcompat.group.base import Groups
    from kcompat.group.kinds.share.initialization import Initialization


def find_group(shard: Groups, group_id: str) -> ShareGroup | Refusal:
    """The share group of this id."""
    group = shard.groups.get(group_id)
    if isinstance(group, ShareGroup):
        return group
    return no_such_group(group_id, group, "share")


def find_or_make(shard: Groups, group_id: str) -> ShareGroup | Refusal:
    """The share group of this id, a new one where there is none: it comes to be when its first records are
    replayed. A group of another kind stays what it is.
    """
    if shard.groups.get(group_id) is None:
        return ShareGroup(group_id, shard.timeline)
    return find_group(shard, group_id)


def describe(shard: Groups, group_id: str) -> DescribedShareGroup:
    """ShareGroupDescribe of one group."""
    group = find_group(shard, group_id)
    if isinstance(group, Refusal):
        return DescribedShareGroup(group_id, group.error, group.message)
    return group.described_as_sharers()


def begun(shard: Groups, group_id: str) -> Initialization | None:
    """Which share partitions of a group have state; None where there is no such group."""
    group = find_group(shard, group_id)
    return None if isinstance(group, Refusal) else group.committed_initialization
