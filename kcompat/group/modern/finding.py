"""The group that a request is for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from kcompat.group.modern.refusal import Refusal
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.group.base import Groups
    from kcompat.group.modern.group import ModernGroup

G = TypeVar("G", bound="ModernGroup[Any, Any]")


def find(shard: Groups, group_id: str, wanted: type[G]) -> G | Refusal:
    """Find the group of this id and kind."""
    group: object = shard.groups.get(group_id)
    if isinstance(group, wanted):
        return group
    what = "not found" if group is None else f"is not a {wanted.kind} group"
    return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} {what}.")


def find_for_member(shard: Groups, group_id: str, wanted: type[G]) -> G | Refusal:
    """Find the group of this id and kind in which a member goes on."""
    if shard.groups.get(group_id) is None:
        message = f"{wanted.kind.capitalize()} group {group_id} not found."
        return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, message)
    return find(shard, group_id, wanted)
