"""JoinGroup in a classic group: each function returns a response, or parks the member and returns a promise.

The checks follow Kafka's `GroupCoordinator.doJoinGroup` step by step, because their order decides which error
a client gets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.errors import group_error
from kcompat.group.events import Change, Why, client_reason
from kcompat.group.kinds.classic import rebalance
from kcompat.group.kinds.classic.group import ClassicGroup
from kcompat.group.kinds.classic.members import ClassicMember, ClassicState
from kcompat.group.requests import UNKNOWN_MEMBER, JoinAnswer, SyncAnswer
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.group.base import Group, GroupTransition
    from kcompat.group.requests import JoinRequest

JoinOutcome = JoinAnswer | Promise[JoinAnswer]


def join(
    transition: GroupTransition,
    request: JoinRequest,
    again: Callable[[GroupTransition, JoinRequest], JoinOutcome],
) -> JoinOutcome:
    """Add a member to the next generation, or return the current generation.

    `again` repeats the join on the group that has replaced this one, if a group of another kind was replaced.
    """
    config = transition.shard.config
    held = transition.shard.groups.get(request.group_id)
    if held is not None and not isinstance(held, ClassicGroup):
        return _join_in_place_of(transition, held, request, again)
    group = held
    if group is None:
        if request.member_id != UNKNOWN_MEMBER:
            return _refused(ErrorCode.UNKNOWN_MEMBER_ID, request.member_id)
        group = ClassicGroup(request.group_id, transition.now_ms)
        transition.shard.groups[request.group_id] = group
    if not _has_room(group, request.member_id, config.max_size):
        _drop(transition, group, request.member_id)
        return _refused(ErrorCode.GROUP_MAX_SIZE_REACHED)
    if not group.supports(request.protocol_type, (name for name, _ in request.protocols)):
        return _refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id)
    if request.member_id == UNKNOWN_MEMBER:
        return _join_new(transition, group, request)
    return _join_known(transition, group, request)


def _join_in_place_of(
    transition: GroupTransition,
    group: Group,
    request: JoinRequest,
    again: Callable[[GroupTransition, JoinRequest], JoinOutcome],
) -> JoinOutcome:
    """Join a classic group that replaces a group of another kind, if that group may be replaced; its offsets
    are kept.
    """
    if not group.gives_way:
        return _refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    promise: Promise[JoinAnswer] = Promise()

    def deleted(transition: GroupTransition, error: ErrorCode) -> None:
        if error != ErrorCode.NONE:
            transition.answer(promise, _refused(group_error(error), request.member_id))
            return
        outcome = again(transition, request)
        if isinstance(outcome, Promise):
            outcome.then(promise.complete, promise.fail)
        else:
            transition.answer(promise, outcome)

    group.write_tombstones(transition)
    transition.then(deleted)
    return promise


def _has_room(group: ClassicGroup, member_id: str, max_size: int) -> bool:
    """Return whether the group has room for this member.

    In the join phase only waiting members count, so that a lowered limit refuses the last ones to join.
    """
    if group.is_in(ClassicState.EMPTY):
        return True
    member = group.members.get(member_id)
    if group.is_in(ClassicState.PREPARING_REBALANCE):
        return (member is not None and member.join is not None) or group.joining < max_size
    return member is not None or len(group.members) < max_size


def _drop(transition: GroupTransition, group: ClassicGroup, member_id: str) -> None:
    """Remove a member that exceeds a lowered limit, and continue the rebalance under way without it."""
    if member_id in group.members:
        rebalance.end_session(transition, group, member_id)
        group.remove(member_id)
        rebalance.complete_if_all_joined(transition, group)
    elif member_id in group.pending_members:
        rebalance.remove_pending(transition, group, member_id)


def _join_new(transition: GroupTransition, group: ClassicGroup, request: JoinRequest) -> JoinOutcome:
    """Handle the join of a member without an id, and assign an id to it."""
    transition.shard.expected.note_join(group.group_id)
    prefix = request.client_id if request.instance_id is None else request.instance_id
    member_id = f"{prefix}-{transition.shard.new_uuid()}"
    if request.instance_id is not None:
        if request.instance_id in group.static_members:
            return _replace_static(transition, group, request, request.instance_id, member_id)
        return _add(transition, group, request, member_id)
    if request.needs_member_id:
        rebalance.add_pending(transition, group, member_id, request.session_timeout_ms)
        return _refused(ErrorCode.MEMBER_ID_REQUIRED, member_id)
    return _add(transition, group, request, member_id)


def _join_known(transition: GroupTransition, group: ClassicGroup, request: JoinRequest) -> JoinOutcome:
    """Handle the join of a member with an id: its first join after MEMBER_ID_REQUIRED, or a later one."""
    if request.member_id in group.pending_members:
        return _add(transition, group, request, request.member_id)
    error = group.member_error(request.member_id, request.instance_id)
    if error != ErrorCode.NONE:
        return _refused(error, request.member_id)
    member = group.members[request.member_id]
    if group.is_in(ClassicState.PREPARING_REBALANCE):
        return _rejoin(transition, group, member, request)
    changed = member.protocols != request.protocols
    if group.is_in(ClassicState.STABLE) and (changed or group.leader == request.member_id):
        return _rejoin(transition, group, member, request)
    if group.is_in(ClassicState.COMPLETING_REBALANCE) and changed:
        return _rejoin(transition, group, member, request)
    return group.join_answer(request.member_id)


def _add(
    transition: GroupTransition, group: ClassicGroup, request: JoinRequest, member_id: str
) -> JoinOutcome:
    promise: Promise[JoinAnswer] = Promise()
    member = ClassicMember(
        member_id,
        request.instance_id,
        request.client_id,
        request.client_host,
        request.rebalance_timeout_ms,
        request.session_timeout_ms,
        request.protocol_type,
        request.protocols,
        is_new=True,
    )
    if group.in_initial_delay:
        group.new_member_added = True
    group.add(member)
    group.park_join(member, promise)
    rebalance.limit_first_join(transition, group, member)
    reason = f"Adding new member {member_id} of client {request.client_id}{client_reason(request.reason)}"
    rebalance.prepare_if_possible(transition, group, Why(Change.JOIN, reason))
    return promise


def _rejoin(
    transition: GroupTransition, group: ClassicGroup, member: ClassicMember, request: JoinRequest
) -> JoinOutcome:
    what = "Updating metadata for member" if member.protocols != request.protocols else "rejoin of member"
    reason = f"{what} {member.member_id} of client {request.client_id}{client_reason(request.reason)}"
    promise = _park_again(transition, group, member, request)
    rebalance.prepare_if_possible(transition, group, Why(Change.UPDATE, reason))
    return promise


def _park_again(
    transition: GroupTransition, group: ClassicGroup, member: ClassicMember, request: JoinRequest
) -> Promise[JoinAnswer]:
    """Park a member's new join, and answer an older join from a lost connection with a retriable error."""
    promise: Promise[JoinAnswer] = Promise()
    transition.answer(
        group.take_join(member), JoinAnswer(ErrorCode.REBALANCE_IN_PROGRESS, member_id=member.member_id)
    )
    group.update(member, request.protocols, request.rebalance_timeout_ms, request.session_timeout_ms)
    group.park_join(member, promise)
    return promise


def _replace_static(
    transition: GroupTransition, group: ClassicGroup, request: JoinRequest, instance_id: str, member_id: str
) -> JoinOutcome:
    """Replace a static member that returned without its member id (KIP-345); the old id is fenced."""
    old_leader = group.leader or ""
    old_member_id = group.static_members[instance_id]
    member = group.members[old_member_id]
    before = (member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms)
    _fence(transition, group, member)
    group.rename_static(instance_id, member_id)
    rebalance.end_session(transition, group, old_member_id)
    rebalance.keep_alive(transition, group, member)
    promise = _park_again(transition, group, member, request)
    if group.is_in(ClassicState.STABLE) and group.select_protocol() == group.protocol_name:

        def stored(transition: GroupTransition, error: ErrorCode) -> None:
            if member.join is not promise:
                return  # a rebalance or a newer join of the member has answered it
            group.take_join(member)
            if error == ErrorCode.NONE:
                transition.answer(
                    promise, _same_generation(group, member_id, old_leader, request.can_skip_assignment)
                )
                return
            group.update(member, *before)
            group.rename_static(instance_id, old_member_id)
            rebalance.end_session(transition, group, member_id)
            rebalance.keep_alive(transition, group, member)
            transition.answer(promise, _not_stored(group, old_leader, group_error(error)))

        assignments = {m.member_id: m.assignment for m in group.members.values()}
        rebalance.store(transition, group, assignments)
        transition.then(stored)
    else:
        reason = f"Updating metadata for static member {member_id} with instance id {instance_id}"
        rebalance.prepare_if_possible(transition, group, Why(Change.UPDATE, reason))
    return promise


def _fence(transition: GroupTransition, group: ClassicGroup, member: ClassicMember) -> None:
    error = ErrorCode.FENCED_INSTANCE_ID
    transition.answer(group.take_join(member), JoinAnswer(error, member_id=member.member_id))
    transition.answer(member.take_sync(), SyncAnswer(error))


def _same_generation(group: ClassicGroup, member_id: str, old_leader: str, can_skip: bool) -> JoinAnswer:
    """Return the join response for a returned static member, which continues without a rebalance.

    A stable group would not distribute a new assignment, so its leader must not make one: newer clients are
    told to skip it (KIP-814), older ones get the leader's old id, which they do not recognize as their own.
    """
    answer = group.join_answer(member_id)
    leads = group.leader == member_id
    return JoinAnswer(
        member_id=member_id,
        generation=answer.generation,
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol_name,
        leader=answer.leader if can_skip else old_leader,
        skip_assignment=leads and can_skip,
        members=answer.members if can_skip else (),
    )


def _not_stored(group: ClassicGroup, leader: str, error: ErrorCode) -> JoinAnswer:
    return JoinAnswer(
        error,
        generation=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=leader,
    )


def _refused(error: ErrorCode, member_id: str = UNKNOWN_MEMBER) -> JoinAnswer:
    return JoinAnswer(error, member_id=member_id)
