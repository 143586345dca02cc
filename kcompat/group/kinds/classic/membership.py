"""Heartbeat and LeaveGroup on a classic group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.kinds.classic import rebalance
from kcompat.group.kinds.classic.group import find
from kcompat.group.kinds.classic.state import ClassicState
from kcompat.group.requests import UNKNOWN_MEMBER, LeaveAnswer, MemberIdentity
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.group.base import GroupTurn
    from kcompat.group.kinds.classic.group import ClassicGroup


def heartbeat(turn: GroupTurn, group_id: str, member: MemberIdentity, generation: int) -> ErrorCode:
    """A member says that it is there; the answer tells it whether to join again."""
    group = find(turn, group_id)
    if group is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    error = group.member_error(member.member_id, member.instance_id)
    if error != ErrorCode.NONE:
        return error
    if generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    rebalance.keep_alive(turn, group, group.members[member.member_id])
    if group.is_in(ClassicState.PREPARING_REBALANCE):
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def leave(turn: GroupTurn, group_id: str, members: tuple[MemberIdentity, ...]) -> LeaveAnswer:
    """Members leave, or an administrator removes static ones by their instance ids alone."""
    group = find(turn, group_id)
    if group is None:
        return LeaveAnswer(members=tuple((member, ErrorCode.UNKNOWN_MEMBER_ID) for member in members))
    return LeaveAnswer(members=tuple((member, _leave_one(turn, group, member)) for member in members))


def _leave_one(turn: GroupTurn, group: ClassicGroup, leaving: MemberIdentity) -> ErrorCode:
    member_id, instance_id = leaving.member_id, leaving.instance_id
    if member_id in group.pending_members:
        rebalance.remove_pending(turn, group, member_id)
        return ErrorCode.NONE
    if member_id == UNKNOWN_MEMBER and instance_id is not None:
        member_id = group.static_members.get(instance_id, UNKNOWN_MEMBER)
        error = ErrorCode.NONE if member_id != UNKNOWN_MEMBER else ErrorCode.UNKNOWN_MEMBER_ID
    else:
        error = group.member_error(member_id, instance_id)
    if error == ErrorCode.NONE:
        rebalance.remove_member(turn, group, group.members[member_id])
    return error
