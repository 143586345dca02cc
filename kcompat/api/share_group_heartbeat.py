"""ShareGroupHeartbeat (key 76), version 1: join, stay in, or leave a share group (KIP-932).

Behaviour
- A member joins with epoch 0 and its topics, and gets its epoch at once. It chooses its own id, of at most 36
  characters. Epoch -1 leaves the group.
- A share partition that is new to the group is initialized first: a later heartbeat assigns it.
- A member must be allowed to DESCRIBE the topics that it names.
- A cluster without share groups answers UNSUPPORTED_VERSION. Version 0 was early access and is not served.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kcompat.api.group_heartbeats import heartbeat_response
from kcompat.api.group_protocols import serves_share_groups
from kcompat.api.share_members import is_member_id
from kcompat.group.kinds.share.requests import ShareHeartbeatRequest
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise


def handle(
    context: RequestContext, request: ShareGroupHeartbeatRequest
) -> ShareGroupHeartbeatResponse | Promise[ShareGroupHeartbeatResponse]:
    """Process a member's heartbeat, and return its epoch and assignment."""
    if not serves_share_groups(context.services):
        return ShareGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    if not context.may(Operation.READ, Resource.group(request.group_id)):
        return ShareGroupHeartbeatResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if not is_member_id(request.member_id):
        return ShareGroupHeartbeatResponse(error_code=ErrorCode.INVALID_REQUEST)
    names = request.subscribed_topic_names
    if not all(context.may(Operation.DESCRIBE, Resource.topic(name)) for name in names or ()):
        return ShareGroupHeartbeatResponse(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    heartbeat = ShareHeartbeatRequest(
        group_id=request.group_id,
        member_id=request.member_id,
        member_epoch=request.member_epoch,
        client_id=context.client_id or "",
        client_host=f"/{context.client_host}",
        rack_id=request.rack_id,
        subscribed_topics=None if names is None else frozenset(names),
    )
    context.services.coordinators.groups.note_request(context.connection, request.group_id, request.member_id)
    answered = context.services.coordinators.groups.share.heartbeat(heartbeat)
    return answered.map(partial(heartbeat_response, ShareGroupHeartbeatResponse, context, request))
