"""ConsumerGroupHeartbeat (key 68), versions 0-1: join, stay in, or leave a consumer group (KIP-848).

Behaviour
- A member joins with epoch 0 and its whole subscription. The response has the member's epoch and the
  partitions that it may own at once. Later requests and responses carry only changes.
- Epoch -1 leaves the group; a static member leaves for a while with epoch -2.
- A member must be allowed to DESCRIBE the topics that it names. A pattern matches only topics that it may
  describe.
- A broker whose `group.coordinator.rebalance.protocols` lacks `consumer` answers UNSUPPORTED_VERSION.

Version notes
- 0: the coordinator generates the id of a member that has none.
- 1: the client generates its member id (KIP-1082), and may subscribe by a pattern.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kcompat.api.group_heartbeats import heartbeat_response
from kcompat.api.group_protocols import serves_consumer_groups
from kcompat.group.kinds.consumer.requests import ConsumerHeartbeatRequest
from kcompat.group.kinds.table import CONSUMER_KIND
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise

FIRST_WITH_OWN_MEMBER_IDS = 1


def handle(
    context: RequestContext, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse | Promise[ConsumerGroupHeartbeatResponse]:
    """Process a member's heartbeat, and return its epoch and assignment."""
    groups = context.services.coordinators.groups
    if not serves_consumer_groups(context.services):
        return ConsumerGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    if not context.may(Operation.READ, Resource.group(request.group_id)):
        return ConsumerGroupHeartbeatResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)

    def may_describe(topic: str) -> bool:
        return context.may(Operation.DESCRIBE, Resource.topic(topic))

    if not all(map(may_describe, request.subscribed_topic_names or ())):
        return ConsumerGroupHeartbeatResponse(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    names, owned = request.subscribed_topic_names, request.topic_partitions
    heartbeat = ConsumerHeartbeatRequest(
        group_id=request.group_id,
        member_id=request.member_id,
        member_epoch=request.member_epoch,
        client_id=context.client_id or "",
        client_host=f"/{context.client_host}",
        may_describe=may_describe,
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        subscribed_topics=None if names is None else frozenset(names),
        subscribed_regex=request.subscribed_topic_regex,
        server_assignor=request.server_assignor,
        owned=None if owned is None else {row.topic_id: frozenset(row.partitions) for row in owned},
        needs_member_id=context.api_version >= FIRST_WITH_OWN_MEMBER_IDS,
    )
    groups.note_request(context.connection, request.group_id, request.member_id)
    answered = groups.modern_heartbeat(CONSUMER_KIND, heartbeat)
    return answered.map(partial(heartbeat_response, ConsumerGroupHeartbeatResponse, context, request))
