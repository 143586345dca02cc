"""InitProducerId (key 22), versions 0-5.

Behaviour
- Without a transactional id, one who may write to any topic may have a producer id, without a permission of
  its own (KIP-679).
- Without a transactional id: a fresh producer id with epoch 0, whatever the request says of the producer's
  former one. COORDINATOR_LOAD_IN_PROGRESS, which clients retry, when no block of ids can be had at the
  moment.

Version notes
- 3: the former producer id and epoch (KIP-360), both or neither, else INVALID_REQUEST. 4: PRODUCER_FENCED
  (KIP-588). 5: as 4 (KIP-890). 6 is not stable (KIP-939) and not served.

Not here yet: transactional ids. They are checked as in Kafka and then answered NOT_COORDINATOR. Clients do
not come this far, as FindCoordinator tells them that transactions are not served.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kcompat.security.authorizer import CLUSTER, Resource
from kcompat.security.operations import Operation, ResourceType

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise

NO_PRODUCER_ID = -1
NO_EPOCH = -1


def handle(
    context: RequestContext, request: InitProducerIdRequest
) -> InitProducerIdResponse | Promise[InitProducerIdResponse]:
    """Hand out a producer id."""
    refusal = _denial(context, request)
    if refusal is not None:
        return _refusal(refusal)
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_EPOCH):
        return _refusal(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is not None:
        return _refusal(_transactional_error(context, request))
    return context.services.producer_ids.next().map(_given)


def _given(producer_id: int | None) -> InitProducerIdResponse:
    if producer_id is None:
        return _refusal(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def _denial(context: RequestContext, request: InitProducerIdRequest) -> ErrorCode | None:
    if request.transactional_id is not None:
        resource = Resource.transactional_id(request.transactional_id)
        if not context.may(Operation.WRITE, resource):
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    elif not (
        context.may(Operation.IDEMPOTENT_WRITE, CLUSTER)
        or context.may_on_any(Operation.WRITE, ResourceType.TOPIC)
    ):
        return ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return None


def _transactional_error(context: RequestContext, request: InitProducerIdRequest) -> ErrorCode:
    if not request.transactional_id:
        return ErrorCode.INVALID_REQUEST
    if not 0 < request.transaction_timeout_ms <= context.services.config.transaction_max_timeout_ms:
        return ErrorCode.INVALID_TRANSACTION_TIMEOUT
    return ErrorCode.NOT_COORDINATOR


def _refusal(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error, producer_id=NO_PRODUCER_ID, producer_epoch=NO_EPOCH)
