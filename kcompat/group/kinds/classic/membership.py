"""SyncGroup, Heartbeat and LeaveGroup of members of a classic group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.errors import group_error
from kcompat.group.events import Change, Why, client_reason
from kcompat.group.kinds.classic import rebalance
from kcompat.group.kinds.classic.group import find
from kcompat.group.kinds.classic.members import ClassicState
from kcompat.group.requests import UNKNOWN_MEMBER, LeaveAnswer, MemberIdentity, SyncAnswer
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.group.base import GroupTransition
    from kcompat.group.kinds.classic.group import ClassicGroup
    from kcompat.group.requests import SyncRequest


def heartbeat(
    transition: GroupTransition, group_id: str, member: MemberIdentity, generation: int
) -> ErrorCode:
    """Restart the member's session; the returned error tells the member whether to join again."""
    group = find(transition, group_id)
    if group is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    error = group.member_error(member.member_id, member.instance_id)
    if error != ErrorCode.NONE:
        return error
    if generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    rebalance.keep_alive(transition, group, group.members[member.member_id])
    if group.is_in(ClassicState.PREPARING_REBALANCE):
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def leave(transition: GroupTransition, group_id: str, members: tuple[MemberIdentity, ...]) -> LeaveAnswer:
    """Remove members that leave, or static members that an administrator names by their instance
    ids alone.
    """
    group = find(transition, group_id)
    if group is None:
        return LeaveAnswer(members=tuple((member, ErrorCode.UNKNOWN_MEMBER_ID) for member in members))
    return LeaveAnswer(members=tuple((member, _leave_one(transition, group, member)) for member in members))


def _leave_one(transition: GroupTransition, group: ClassicGroup, leaving: MemberIdentity) -> ErrorCode:
    member_id, instance_id = leaving.member_id, leaving.instance_id
    if member_id in group.pending_members:
        rebalance.remove_pending(transition, group, member_id)
        return ErrorCode.NONE
    if member_id == UNKNOWN_MEMBER and instance_id is not None:
        member_id = group.static_members.get(instance_id, UNKNOWN_MEMBER)
        error = ErrorCode.NONE if member_id != UNKNOWN_MEMBER else ErrorCode.UNKNOWN_MEMBER_ID
    else:
        error = group.member_error(member_id, instance_id)
    if error == ErrorCode.NONE:
        reason = f"LeaveGroup{client_reason(leaving.reason)}"
        rebalance.remove_member(transition, group, group.members[member_id], reason)
    return error


def sync(transition: GroupTransition, request: SyncRequest) -> SyncAnswer | Promise[SyncAnswer]:
    """Return the member's assignment, or a promise of it until the leader has assigned partitions."""
    group = find(transition, request.group_id)
    if group is None:
        return SyncAnswer(ErrorCode.UNKNOWN_MEMBER_ID)
    error = _sync_error(group, request)
    if error != ErrorCode.NONE:
        return SyncAnswer(error)
    member = group.members[request.member_id]
    if group.is_in(ClassicState.PREPARING_REBALANCE):
        return SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS)
    rebalance.sync_received(transition, group, request.member_id)
    if group.is_in(ClassicState.STABLE):
        rebalance.keep_alive(transition, group, member)
        return SyncAnswer(ErrorCode.NONE, group.protocol_type, group.protocol_name, member.assignment)
    transition.answer(
        member.sync, SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS)
    )  # left over from a lost connection
    promise: Promise[SyncAnswer] = Promise()
    member.sync = promise
    if group.leader == request.member_id:
        _store(transition, group, dict(request.assignments))
    return promise


def _sync_error(group: ClassicGroup, request: SyncRequest) -> ErrorCode:
    error = group.member_error(request.member_id, request.instance_id)
    if error != ErrorCode.NONE:
        return error
    if request.generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    if request.protocol_type is not None and request.protocol_type != group.protocol_type:
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if request.protocol_name is not None and request.protocol_name != group.protocol_name:
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return ErrorCode.NONE


def _store(transition: GroupTransition, group: ClassicGroup, assignments: dict[str, bytes]) -> None:
    """Write the assignments: an empty one for members that the leader left out, none for ids that are not in
    the group.
    """
    generation = group.generation

    def stored(transition: GroupTransition, error: ErrorCode) -> None:
        if not group.is_in(ClassicState.COMPLETING_REBALANCE) or group.generation != generation:
            return  # a rebalance that began since has answered all syncs
        if error == ErrorCode.NONE:
            group.transition_to(ClassicState.STABLE, transition.now_ms)
            rebalance.answer_syncs(transition, group, ErrorCode.NONE)
        else:
            rebalance.answer_syncs(transition, group, group_error(error))
            rebalance.prepare(transition, group, Why(Change.UPDATE, "the assignment could not be stored"))

    rebalance.store(transition, group, assignments)
    transition.then(stored)
