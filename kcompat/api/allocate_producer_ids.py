"""AllocateProducerIds (key 67), version 0 (KIP-730): a broker takes a block of producer ids.

Behaviour
- Only brokers may send the request, and only the controller decides; other brokers answer NOT_CONTROLLER.
- A broker that is not registered gets BROKER_ID_NOT_REGISTERED, and a former registration STALE_BROKER_EPOCH.
- The cluster never allocates a producer id twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.cluster.znodes import ProducerIdBlock
    from kcompat.promise import Promise


def handle(
    context: RequestContext, request: AllocateProducerIdsRequest
) -> AllocateProducerIdsResponse | Promise[AllocateProducerIdsResponse]:
    """Allocate a block through the controller in this process."""
    if not context.may(Operation.CLUSTER_ACTION, CLUSTER):
        return AllocateProducerIdsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return context.services.cluster.decisions.allocate_block(request.broker_id, request.broker_epoch).map(
        _response
    )


def _response(block: ProducerIdBlock | ErrorCode) -> AllocateProducerIdsResponse:
    if isinstance(block, ErrorCode):
        return AllocateProducerIdsResponse(error_code=block)
    return AllocateProducerIdsResponse(
        producer_id_start=block.first, producer_id_len=block.last - block.first + 1
    )
