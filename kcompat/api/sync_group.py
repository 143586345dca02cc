"""SyncGroup (key 14), versions 0-5.

Behaviour
- Returns a member's assignment, once the leader has sent all assignments and they are written to
  `__consumer_offsets`.
- In a stable group the current assignment is returned at once.

Version notes
- 3: instance ids (KIP-345).
- 5: protocol type and name are mandatory and checked (KIP-559).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kcompat.api.failures import note_member
from kcompat.group.requests import SyncRequest
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.group.requests import SyncAnswer
    from kcompat.promise import Promise


def handle(
    context: RequestContext, request: SyncGroupRequest
) -> SyncGroupResponse | Promise[SyncGroupResponse]:
    """Return the member's assignment."""
    if context.api_version >= 5 and (request.protocol_type is None or request.protocol_name is None):
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if not context.may(Operation.READ, Resource.group(request.group_id)):
        return SyncGroupResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    sync = SyncRequest(
        group_id=request.group_id,
        generation=request.generation_id,
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignments=tuple((entry.member_id, entry.assignment) for entry in request.assignments),
    )
    groups = context.services.coordinators.groups
    groups.note_request(context.connection, request.group_id, request.member_id)
    return groups.sync(sync).map(partial(_response, context, request))


def _response(context: RequestContext, request: SyncGroupRequest, answer: SyncAnswer) -> SyncGroupResponse:
    note_member(context, request, answer.error)
    return SyncGroupResponse(
        error_code=answer.error,
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol_name,
        assignment=answer.assignment,
    )
