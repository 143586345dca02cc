"""UpdateMetadata (key 6), versions 0-8: the controller names the live brokers, the controller, and the state
of partitions.

Behaviour
- Only the controller sends the request (CLUSTER_ACTION). A request for a former registration of this broker
  gets STALE_BROKER_EPOCH, a request of a former controller STALE_CONTROLLER_EPOCH.
- An unknown security protocol gets INVALID_REQUEST.
- Brokers that the request does not name are not live. Partitions that it does not name do not change. A
  partition with the leader -2 is being deleted and disappears from responses.

Versions
- 0 has one plaintext address for each broker; 1 one for each security protocol; 2 adds racks (KIP-36); 3
  names listeners (KIP-103); 4 adds offline replicas (KIP-112); 5 groups by topic and has the broker epoch
  (KIP-380); 7 has topic ids (KIP-516); 8 marks KRaft controllers (KIP-866).

Not implemented: the migration to KRaft. A full update of a KRaft controller is served as any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.controller_requests import execute, refusal_of
from kcompat.cluster.control_requests import Reply
from kcompat.peer import update_metadata
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise
    from kcompat.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse


def handle(
    context: RequestContext, request: UpdateMetadataRequest
) -> UpdateMetadataResponse | Promise[UpdateMetadataResponse]:
    """Apply the metadata update."""
    refused = refusal_of(context, request.broker_epoch)
    if refused:
        return update_metadata.response_of(Reply(refused))
    try:
        control = update_metadata.control_request_of(request)
    except ValueError:
        return update_metadata.response_of(Reply(ErrorCode.INVALID_REQUEST))
    return execute(context, control).map(update_metadata.response_of)
