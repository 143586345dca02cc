"""SyncGroup, Heartbeat and LeaveGroup of classic members in a consumer group.

Kafka's counterparts: `classicGroupSyncToConsumerGroup`, `classicGroupHeartbeatToConsumerGroup`,
`classicGroupLeaveToConsumerGroup`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.kinds.consumer import sessions
from kcompat.group.kinds.consumer.member import ConsumerMember, ConsumerMemberState
from kcompat.group.kinds.consumer.members import CONSUMER
from kcompat.group.kinds.consumer.membership import fenced_instance
from kcompat.group.mixed.embedded import write_assignment
from kcompat.group.requests import UNKNOWN_MEMBER, LeaveAnswer, MemberIdentity, SyncAnswer
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.group.base import GroupTransition
    from kcompat.group.kinds.consumer.members import ConsumerMembers
    from kcompat.group.requests import SyncRequest


def sync(transition: GroupTransition, group: ConsumerMembers, request: SyncRequest) -> SyncAnswer:
    """Answer a classic member with its partitions. Assignments in the request are ignored."""
    member = _classic_member(group, request.member_id, request.instance_id, request.generation)
    if isinstance(member, ErrorCode):
        return SyncAnswer(member)
    assert member.classic is not None
    protocol, subscription = member.classic.protocols[0]
    if request.protocol_type not in (None, CONSUMER) or request.protocol_name not in (None, protocol):
        return SyncAnswer(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if member.member_epoch < group.assignment_epoch and not _is_revoking(member):
        sessions.await_join(transition, group.group_id, member)
        return SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS)
    sessions.synced(transition, group.group_id, member)
    sessions.watch(transition, group.group_id, member)
    assignment = write_assignment(member.assigned, subscription, transition.shard.image())
    return SyncAnswer(ErrorCode.NONE, request.protocol_type, request.protocol_name, assignment)


def heartbeat(
    transition: GroupTransition, group: ConsumerMembers, identity: MemberIdentity, generation: int
) -> ErrorCode:
    """Restart a classic member's session; the returned error tells the member to join again if it has a step
    to make.
    """
    member = _classic_member(group, identity.member_id, identity.instance_id, generation)
    if isinstance(member, ErrorCode):
        return member
    sessions.watch(transition, group.group_id, member)
    behind = member.member_epoch < group.assignment_epoch or _needs_a_target(transition, group, member)
    ready = member.state is ConsumerMemberState.UNRELEASED_PARTITIONS and not _waits_for_others(group, member)
    if behind or ready or _is_revoking(member):
        sessions.await_join(transition, group.group_id, member)
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def leave(
    transition: GroupTransition, group: ConsumerMembers, members: tuple[MemberIdentity, ...]
) -> LeaveAnswer:
    """Remove members that leave or that an administrator names; they may use either protocol."""
    found = [(identity, _leaving(group, identity)) for identity in members]
    gone = {member.member_id: member for _, member in found if isinstance(member, ConsumerMember)}
    if gone:
        sessions.fence(transition, group, list(gone.values()))
    return LeaveAnswer(
        members=tuple(
            (identity, outcome if isinstance(outcome, ErrorCode) else ErrorCode.NONE)
            for identity, outcome in found
        )
    )


def _leaving(group: ConsumerMembers, identity: MemberIdentity) -> ConsumerMember | ErrorCode:
    if identity.instance_id is not None and identity.member_id == UNKNOWN_MEMBER:
        return group.static_member(identity.instance_id) or ErrorCode.UNKNOWN_MEMBER_ID
    return _member(group, identity.member_id, identity.instance_id)


def _member(group: ConsumerMembers, member_id: str, instance_id: str | None) -> ConsumerMember | ErrorCode:
    if instance_id is None:
        return group.members.get(member_id) or ErrorCode.UNKNOWN_MEMBER_ID
    member, refusal = fenced_instance(group, instance_id, member_id)
    if member is None:
        assert refusal is not None
        return refusal.error
    return member


def _classic_member(
    group: ConsumerMembers, member_id: str, instance_id: str | None, generation: int
) -> ConsumerMember | ErrorCode:
    """Return the member, if it uses the classic protocol and is in this generation, or the error."""
    member = _member(group, member_id, instance_id)
    if isinstance(member, ErrorCode):
        return member
    if member.classic is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return member if generation == member.member_epoch else ErrorCode.ILLEGAL_GENERATION


def _is_revoking(member: ConsumerMember) -> bool:
    return member.state is ConsumerMemberState.UNREVOKED_PARTITIONS


def _needs_a_target(transition: GroupTransition, group: ConsumerMembers, member: ConsumerMember) -> bool:
    """Return whether the group needs a new target and has only classic members.

    A target is computed when a classic member joins, or when a member with the consumer protocol sends a
    heartbeat. Kafka never gives such a group a new target by itself.
    """
    if group.classic_members < len(group.members):
        return False
    return member.member_epoch < group.group_epoch or group.refresh_due(transition.shard.image())


def _waits_for_others(group: ConsumerMembers, member: ConsumerMember) -> bool:
    """Return whether another member has yet to revoke a partition of this member's target."""
    return any(
        group.is_held(topic_id, index)
        for topic_id, indexes in group.target(member.member_id).items()
        for index in indexes - member.assigned.get(topic_id, {}).keys()
    )
