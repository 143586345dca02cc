"""DescribeGroups and ListGroups: what is told of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.classic.state import GroupState
from kcompat.group.requests import DescribedGroup, DescribedMember, ListedGroup
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from kcompat.group.classic.group import ClassicGroup
    from kcompat.group.classic.member import Member
    from kcompat.group.shard import GroupShard


def describe(shard: GroupShard, group_id: str) -> DescribedGroup:
    """One group. Its protocol and what members said for it are shown only while they are settled."""
    group = shard.groups.get(group_id)
    if group is None:
        return DescribedGroup(group_id, ErrorCode.GROUP_ID_NOT_FOUND, state=GroupState.DEAD.value)
    stable = group.is_in(GroupState.STABLE)
    protocol = (group.protocol_name or "") if stable else ""
    return DescribedGroup(
        group_id,
        state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol=protocol,
        members=tuple(_describe_member(group, member) for member in group.members.values()),
    )


def _describe_member(group: ClassicGroup, member: Member) -> DescribedMember:
    stable = group.is_in(GroupState.STABLE)
    return DescribedMember(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.metadata(group.protocol_name or "") if stable else b"",
        member.assignment,
    )


def list_groups(
    shard: GroupShard, states: AbstractSet[str], types: AbstractSet[str]
) -> Iterator[ListedGroup]:
    """The groups in any of the states and of any of the types (in lower case; empty sets filter nothing)."""
    for group in shard.groups.values():
        state = group.state.value
        if (not states or state.lower() in states) and (not types or group.group_type in types):
            yield ListedGroup(group.group_id, group.protocol_type or "", state, group.group_type)
