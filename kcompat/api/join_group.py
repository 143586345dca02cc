"""JoinGroup (key 11), versions 0-9.

Behaviour
- Makes the client a member of a classic group. The response is sent when the next generation starts, or at
  once if nothing changes.
- Only the response to the leader lists the members.
- A refused join may leave the group that it created. The empty group stays until it is deleted or expires.

Version notes
- 0: no rebalance timeout; the session timeout is used for both.
- 4: a new member without an instance id gets MEMBER_ID_REQUIRED and an id with which to join again (KIP-394).
  Older versions join at once.
- 5: instance ids (KIP-345).
- 7: protocol type, and a protocol name that may be null (KIP-559).
- 8: a reason, for the log (KIP-800).
- 9: a static leader that returns to a stable group skips the assignment (KIP-814).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.failures import note_member
from kcompat.group.requests import JoinAnswer, JoinRequest
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise


def handle(
    context: RequestContext, request: JoinGroupRequest
) -> JoinGroupResponse | Promise[JoinGroupResponse]:
    """Join the group, and answer once the next generation starts."""
    version = context.api_version
    if not context.may(Operation.READ, Resource.group(request.group_id)):
        return _response(JoinAnswer(ErrorCode.GROUP_AUTHORIZATION_FAILED), version)
    join = JoinRequest(
        group_id=request.group_id,
        member_id=request.member_id,
        client_id=context.client_id or "",
        client_host=f"/{context.client_host}",
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms if version >= 1 else request.session_timeout_ms,
        protocol_type=request.protocol_type,
        protocols=tuple((protocol.name, protocol.metadata) for protocol in request.protocols),
        instance_id=request.group_instance_id,
        reason=request.reason,
        needs_member_id=version >= 4 and request.group_instance_id is None,
        can_skip_assignment=version >= 9,
        may_describe=lambda topic: context.may(Operation.DESCRIBE, Resource.topic(topic)),
    )

    def response(answer: JoinAnswer) -> JoinGroupResponse:
        note_member(context, request, answer.error)
        return _response(answer, version)

    return context.services.coordinators.groups.join(join).map(response)


def _response(answer: JoinAnswer, version: int) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=answer.error,
        generation_id=answer.generation,
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol_name if version >= 7 else answer.protocol_name or "",
        leader=answer.leader,
        skip_assignment=answer.skip_assignment,
        member_id=answer.member_id,
        members=[
            JoinGroupResponse.JoinGroupResponseMember(
                member_id=member.member_id, group_instance_id=member.instance_id, metadata=member.metadata
            )
            for member in answer.members
        ],
    )
