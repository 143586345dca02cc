"""SyncGroup on a classic group: the leader's assignments are written down, then handed to everybody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.errors import group_error
from kcompat.group.kinds.classic import rebalance
from kcompat.group.kinds.classic.group import find
from kcompat.group.kinds.classic.state import ClassicState
from kcompat.group.requests import SyncAnswer
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.group.base import GroupTurn
    from kcompat.group.kinds.classic.group import ClassicGroup
    from kcompat.group.requests import SyncRequest


def sync(turn: GroupTurn, request: SyncRequest) -> SyncAnswer | Promise[SyncAnswer]:
    """Give a member its assignment, when there is one."""
    group = find(turn, request.group_id)
    if group is None:
        return SyncAnswer(ErrorCode.UNKNOWN_MEMBER_ID)
    error = _sync_error(group, request)
    if error != ErrorCode.NONE:
        return SyncAnswer(error)
    member = group.members[request.member_id]
    if group.is_in(ClassicState.PREPARING_REBALANCE):
        return SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS)
    rebalance.sync_received(turn, group, request.member_id)
    if group.is_in(ClassicState.STABLE):
        rebalance.keep_alive(turn, group, member)
        return SyncAnswer(ErrorCode.NONE, group.protocol_type, group.protocol_name, member.assignment)
    turn.answer(member.sync, SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS))  # left over from a lost connection
    promise: Promise[SyncAnswer] = Promise()
    member.sync = promise
    if group.leader == request.member_id:
        _store(turn, group, dict(request.assignments))
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


def _store(turn: GroupTurn, group: ClassicGroup, assignments: dict[str, bytes]) -> None:
    """Write the assignments; a member the leader forgot gets an empty one, ids of no member are left out."""
    generation = group.generation

    def stored(turn: GroupTurn, error: ErrorCode) -> None:
        if not group.is_in(ClassicState.COMPLETING_REBALANCE) or group.generation != generation:
            return  # a rebalance has begun meanwhile and answered everybody
        if error == ErrorCode.NONE:
            group.transition_to(ClassicState.STABLE, turn.now_ms)
            rebalance.answer_syncs(turn, group, ErrorCode.NONE)
        else:
            rebalance.answer_syncs(turn, group, group_error(error))
            rebalance.prepare(turn, group)

    rebalance.store(turn, group, assignments)
    turn.then(stored)
