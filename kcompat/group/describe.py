"""DescribeGroups and ListGroups: descriptions of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.requests import DescribedGroup
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from kcompat.group.base import ShardGroups
    from kcompat.group.requests import ListedGroup

STATE_OF_NO_GROUP = "Dead"


def describe(shard: ShardGroups, group_id: str) -> DescribedGroup:
    """Return the description of a group.

    An unknown group has the error GROUP_ID_NOT_FOUND and the state Dead.
    """
    group = shard.groups.get(group_id)
    if group is None:
        return DescribedGroup(
            group_id,
            ErrorCode.GROUP_ID_NOT_FOUND,
            STATE_OF_NO_GROUP,
            message=f"Group {group_id} not found.",
        )
    return group.described()


def of_another_kind(group_id: str) -> DescribedGroup:
    """Return the DescribeGroups response for a group that is not classic, which DescribeGroups does not
    describe.
    """
    return DescribedGroup(
        group_id,
        ErrorCode.GROUP_ID_NOT_FOUND,
        STATE_OF_NO_GROUP,
        message=f"Group {group_id} is not a classic group.",
    )


def list_groups(
    shard: ShardGroups, states: AbstractSet[str], types: AbstractSet[str]
) -> Iterator[ListedGroup]:
    """Return the groups in any of the states and of any of the types.

    Both are in lower case; an empty set does not filter.
    """
    for group in shard.groups.values():
        listed = group.listed()
        if (not states or listed.state.lower() in states) and (not types or listed.group_type in types):
            yield listed
