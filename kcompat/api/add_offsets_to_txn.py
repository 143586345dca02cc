"""AddOffsetsToTxn (key 25), versions 0-4.

Behaviour
- Adds a group's partition of `__consumer_offsets` to a transaction, before TxnOffsetCommit.
- If `__consumer_offsets` does not exist, the partition that the group will have is added.

Version notes
- 2: PRODUCER_FENCED (KIP-588); older versions get INVALID_PRODUCER_EPOCH. 4: TRANSACTION_ABORTABLE (KIP-890).
  Clients with `transaction.version` 2 do not send the request, because TxnOffsetCommit adds the partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.api.failures import note_transaction
from kcompat.coordinator.partitioning import NOWHERE
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from kcompat.topics import CONSUMER_OFFSETS
from kcompat.transaction.requests import FIRST_WITH_FENCED, Producer, known_to

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise


def handle(
    context: RequestContext, request: AddOffsetsToTxnRequest
) -> AddOffsetsToTxnResponse | Promise[AddOffsetsToTxnResponse]:
    """Add the group's partition of `__consumer_offsets` to the transaction."""
    if not context.may(Operation.WRITE, Resource.transactional_id(request.transactional_id)):
        return AddOffsetsToTxnResponse(error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if not context.may(Operation.READ, Resource.group(request.group_id)):
        return AddOffsetsToTxnResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    services = context.services
    partition = services.coordinators.groups.partition_of(request.group_id)
    if partition == NOWHERE:
        return AddOffsetsToTxnResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    place = (CONSUMER_OFFSETS, partition)
    producer = Producer(request.producer_id, request.producer_epoch)
    added = services.coordinators.transactions.add_partitions(request.transactional_id, producer, [place], 0)

    def response(error: ErrorCode) -> AddOffsetsToTxnResponse:
        note_transaction(context, request.transactional_id, request.producer_epoch, error)
        return AddOffsetsToTxnResponse(error_code=known_to(context.api_version, FIRST_WITH_FENCED, error))

    return added.map(response)
