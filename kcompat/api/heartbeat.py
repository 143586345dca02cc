"""Heartbeat (key 12), versions 0-4.

Behaviour
- Keeps the session of a classic group's member alive. REBALANCE_IN_PROGRESS makes the member join again.
- While the coordinator is loading, it answers NONE.

Version notes
- 3: instance ids (KIP-345).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.failures import note_member
from kcompat.group.requests import MemberIdentity
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext


def handle(context: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse:
    """Extend the session of a member."""
    if not context.may(Operation.READ, Resource.group(request.group_id)):
        return HeartbeatResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    groups, member = (
        context.services.coordinators.groups,
        MemberIdentity(request.member_id, request.group_instance_id),
    )
    groups.note_request(context.connection, request.group_id, request.member_id)
    error = groups.heartbeat(request.group_id, member, request.generation_id)
    if error:
        note_member(context, request, error)
    return HeartbeatResponse(error_code=error)
