"""EndTxn (key 26), versions 0-5.

Behaviour
- Decides how a transaction ends, and answers once the decision is committed. The markers are written after
  the response, so consumers may see the records a little later.
- A repeated request gets the same response; CONCURRENT_TRANSACTIONS while markers are being written.

Version notes
- 2: PRODUCER_FENCED (KIP-588); older versions get INVALID_PRODUCER_EPOCH. 4: TRANSACTION_ABORTABLE (KIP-890).
  5: the producer epoch rises with each end, and the response has the new one (KIP-890).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.failures import note_transaction
from kcompat.log.verification import VERSION_2
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from kcompat.transaction.requests import FIRST_WITH_FENCED, EndRequest, Producer, ProducerAnswer, known_to

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise

FIRST_WITH_EPOCH = 5


def handle(context: RequestContext, request: EndTxnRequest) -> EndTxnResponse | Promise[EndTxnResponse]:
    """Commit or abort a transaction."""
    if not context.may(Operation.WRITE, Resource.transactional_id(request.transactional_id)):
        return EndTxnResponse(error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    version = context.api_version
    end = EndRequest(
        request.transactional_id,
        Producer(request.producer_id, request.producer_epoch),
        request.committed,
        client_version=VERSION_2 if version >= FIRST_WITH_EPOCH else 0,
    )

    def response(answer: ProducerAnswer) -> EndTxnResponse:
        error = answer.error
        if error:
            note_transaction(context, request.transactional_id, request.producer_epoch, error)
            error = known_to(version, FIRST_WITH_FENCED, error)
        return EndTxnResponse(
            error_code=error, producer_id=answer.producer.id, producer_epoch=answer.producer.epoch
        )

    return context.services.coordinators.transactions.end(end).map(response)
