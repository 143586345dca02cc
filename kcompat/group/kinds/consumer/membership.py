"""Lookup of the member of a heartbeat: a known one, a new one, or a static one that returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.group.kinds.consumer.member import ConsumerMember
from kcompat.group.kinds.consumer.members import CONSUMER
from kcompat.group.kinds.consumer.records import RECORDS
from kcompat.group.modern.heartbeat import JOIN, LEAVE_FOR_A_WHILE, Refusal, epoch_refusal, unknown_member
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.group.base import GroupTransition
    from kcompat.group.kinds.consumer.members import ConsumerMembers
    from kcompat.group.kinds.consumer.requests import ConsumerHeartbeatRequest


def find_or_join(
    transition: GroupTransition, group: ConsumerMembers, request: ConsumerHeartbeatRequest, member_id: str
) -> ConsumerMember | Refusal:
    """Return the member in the log, or a new member that joins."""
    if request.instance_id is not None:
        return _static(transition, group, request, request.instance_id, member_id)
    member = group.members.get(member_id)
    if member is None:
        if request.member_epoch != JOIN:
            return unknown_member(group.group_id, member_id)
        member = ConsumerMember(member_id)
    return _epoch_refusal(member, request) or member


def fenced_instance(
    group: ConsumerMembers, instance_id: str, member_id: str
) -> tuple[ConsumerMember | None, Refusal | None]:
    """Return the static member with an instance id, and the refusal if its member id differs from
    `member_id`.
    """
    member = group.static_member(instance_id)
    if member is None:
        return None, Refusal(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if member.member_id != member_id:
        return None, Refusal(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member "
            f"{member.member_id}.",
        )
    return member, None


def _static(
    transition: GroupTransition,
    group: ConsumerMembers,
    request: ConsumerHeartbeatRequest,
    instance_id: str,
    member_id: str,
) -> ConsumerMember | Refusal:
    if request.member_epoch != JOIN:
        member, refusal = fenced_instance(group, instance_id, member_id)
        if member is None:
            assert refusal is not None
            return refusal
        return _epoch_refusal(member, request) or member
    former = group.static_member(instance_id)
    if former is None:
        return group.members.get(member_id) or ConsumerMember(member_id)
    if former.classic is None and former.member_epoch != LEAVE_FOR_A_WHILE:
        return Refusal(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} cannot join the group because the "
            f"instance id is owned by {former.member_id} member.",
        )
    return take_place(transition, group, former, member_id)


def take_place(
    transition: GroupTransition, group: ConsumerMembers, former: ConsumerMember, member_id: str
) -> ConsumerMember:
    """Give a static member that returned under another member id the state of its former id."""
    member = replace(former, member_id=member_id, member_epoch=JOIN, previous_member_epoch=JOIN)
    RECORDS.write_member_tombstones(transition, group.group_id, former.member_id)
    RECORDS.write_member(transition, group.group_id, member)
    RECORDS.write_target(transition, group.group_id, member_id, group.target(former.member_id))
    RECORDS.write_current(transition, group.group_id, member)
    return member


def _epoch_refusal(member: ConsumerMember, request: ConsumerHeartbeatRequest) -> Refusal | None:
    lost_answer = request.member_epoch == member.previous_member_epoch and member.owns_at_least(request.owned)
    return epoch_refusal(CONSUMER, request.member_epoch, member.member_epoch, accepts_older=lost_answer)
