"""AllocateProducerIds (key 67), version 0 (KIP-730): a broker takes a block of producer ids.

Behaviour
- Only brokers may ask, and only the controller decides: NOT_CONTROLLER elsewhere.
- BROKER_ID_NOT_REGISTERED, or STALE_BROKER_EPOCH for a broker that has registered anew since.
- No id comes twice while the cluster lives.
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
    """Have the controller of this process decide."""
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
