"""InitProducerId (key 22), versions 0-5.

Behaviour
- A request without a transactional id needs IDEMPOTENT_WRITE on the cluster, or WRITE on any topic (KIP-679).
- A request with a transactional id fences all former producers of the id, in a higher epoch. An open
  transaction is aborted first; CONCURRENT_TRANSACTIONS makes the client retry meanwhile.
- A request without a transactional id gets a new producer id with epoch 0, even if it has a former id. If no
  block of ids can be allocated now, it gets COORDINATOR_LOAD_IN_PROGRESS, which clients retry.

Version notes
- 3: the former producer id and epoch (KIP-360); one without the other gets INVALID_REQUEST. 4:
  PRODUCER_FENCED (KIP-588). 5: as 4 (KIP-890). 6, for two-phase commit (KIP-939), is not stable and not
  served.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kcompat.api.failures import note_init
from kcompat.protocol.constants import NO_EPOCH
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kcompat.security.authorizer import CLUSTER, Purpose, Resource
from kcompat.security.operations import Operation, ResourceType
from kcompat.transaction.requests import InitRequest, Producer, ProducerAnswer, known_to
from kcompat.transaction.transaction import NO_PRODUCER_ID

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise

FIRST_WITH_FENCED = 4


def handle(
    context: RequestContext, request: InitProducerIdRequest
) -> InitProducerIdResponse | Promise[InitProducerIdResponse]:
    """Return a producer id and its epoch."""
    refusal = _denial(context, request)
    if refusal is not None:
        return _refusal(refusal)
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_EPOCH):
        return _refusal(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is None:
        return context.services.coordinators.producer_ids.next().map(_given)
    has_former = request.producer_id != NO_PRODUCER_ID
    init = InitRequest(
        request.transactional_id,
        request.transaction_timeout_ms,
        Producer(request.producer_id, request.producer_epoch) if has_former else None,
    )
    return context.services.coordinators.transactions.initialize(init).map(
        partial(_response, context, request)
    )


def _response(
    context: RequestContext, request: InitProducerIdRequest, answer: ProducerAnswer
) -> InitProducerIdResponse:
    if answer.error:
        note_init(context, request, answer.error)
        return _refusal(known_to(context.api_version, FIRST_WITH_FENCED, answer.error))
    return InitProducerIdResponse(producer_id=answer.producer.id, producer_epoch=answer.producer.epoch)


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
        context.may(Operation.IDEMPOTENT_WRITE, CLUSTER, Purpose.FILTER)
        or context.may_on_any(Operation.WRITE, ResourceType.TOPIC)
    ):
        return ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return None


def _refusal(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error, producer_id=NO_PRODUCER_ID, producer_epoch=NO_EPOCH)
