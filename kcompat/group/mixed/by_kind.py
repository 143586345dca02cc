"""Requests of classic members, dispatched by the kind of their group.

A consumer group without members is treated as missing: the first classic member that joins makes it a classic
group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.kinds.classic import joins as classic_joins
from kcompat.group.kinds.classic import membership as classic_membership
from kcompat.group.kinds.consumer.group import ConsumerGroup
from kcompat.group.mixed import joins, membership
from kcompat.group.requests import JoinAnswer
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.group.base import GroupTransition
    from kcompat.group.requests import JoinRequest, LeaveAnswer, MemberIdentity, SyncAnswer, SyncRequest
    from kcompat.promise import Promise


def join(transition: GroupTransition, request: JoinRequest) -> JoinAnswer | Promise[JoinAnswer]:
    """Handle JoinGroup in a classic group or a consumer group."""
    config = transition.shard.config
    if not config.min_session_timeout_ms <= request.session_timeout_ms <= config.max_session_timeout_ms:
        return JoinAnswer(ErrorCode.INVALID_SESSION_TIMEOUT, request.member_id)
    group = _consumers(transition, request.group_id)
    return (
        classic_joins.join(transition, request, join)
        if group is None
        else joins.join(transition, group, request)
    )


def sync(transition: GroupTransition, request: SyncRequest) -> SyncAnswer | Promise[SyncAnswer]:
    """Handle SyncGroup in a classic group or a consumer group."""
    group = _consumers(transition, request.group_id)
    return (
        classic_membership.sync(transition, request)
        if group is None
        else membership.sync(transition, group, request)
    )


def heartbeat(
    transition: GroupTransition, group_id: str, member: MemberIdentity, generation: int
) -> ErrorCode:
    """Handle Heartbeat in a classic group or a consumer group."""
    group = _consumers(transition, group_id)
    if group is None:
        return classic_membership.heartbeat(transition, group_id, member, generation)
    return membership.heartbeat(transition, group, member, generation)


def leave(transition: GroupTransition, group_id: str, members: tuple[MemberIdentity, ...]) -> LeaveAnswer:
    """Handle LeaveGroup in a classic group or a consumer group."""
    group = _consumers(transition, group_id)
    if group is None:
        return classic_membership.leave(transition, group_id, members)
    return membership.leave(transition, group, members)


def _consumers(transition: GroupTransition, group_id: str) -> ConsumerGroup | None:
    group = transition.shard.groups.get(group_id)
    return group if isinstance(group, ConsumerGroup) and not group.is_empty else None
