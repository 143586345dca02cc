"""LeaveGroup (key 13), versions 0-5.

Behaviour
- Removes members from a classic group; the other members rebalance.
- An instance id without a member id removes a static member, as administrators do.

Version notes
- 0-2: one member, whose error is the error of the request.
- 3: several members, each with its error (KIP-345).
- 5: a reason, which is not used (KIP-800).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.requests import MemberIdentity
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.group.requests import LeaveAnswer
    from kcompat.promise import Promise


def handle(
    context: RequestContext, request: LeaveGroupRequest
) -> LeaveGroupResponse | Promise[LeaveGroupResponse]:
    """Remove the members from the group."""
    if not context.may(Operation.READ, Resource.group(request.group_id)):
        return LeaveGroupResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if context.api_version >= 3:
        leaving = tuple(MemberIdentity(m.member_id, m.group_instance_id, m.reason) for m in request.members)
    else:
        leaving = (MemberIdentity(request.member_id),)
    left = context.services.coordinators.groups.leave(request.group_id, leaving)
    return left.map(_per_member if context.api_version >= 3 else _single)


def _single(answer: LeaveAnswer) -> LeaveGroupResponse:
    error = answer.error
    if error == ErrorCode.NONE:
        error = answer.members[0][1]
    return LeaveGroupResponse(error_code=error)


def _per_member(answer: LeaveAnswer) -> LeaveGroupResponse:
    return LeaveGroupResponse(
        error_code=answer.error,
        members=[
            LeaveGroupResponse.MemberResponse(
                member_id=member.member_id, group_instance_id=member.instance_id, error_code=error
            )
            for member, error in answer.members
        ],
    )
