"""AddPartitionsToTxn (key 24), versions 0-5.

Behaviour
- Adds all partitions of a transaction, or none: if one partition is refused, the others get
  OPERATION_NOT_ATTEMPTED.
- The client needs WRITE on each topic; internal topics are refused.

Version notes
- 2: PRODUCER_FENCED (KIP-588); older versions get INVALID_PRODUCER_EPOCH.
- 4: brokers send the request, for several transactions; with `verify_only` it changes nothing and returns
  which partitions are in a transaction. The broker needs CLUSTER_ACTION (KIP-890).
- 5: brokers send it for clients that add partitions by writing to them (`transaction.version` 2).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kcompat.api.failures import note_transaction
from kcompat.log.verification import VERSION_2
from kcompat.promise import Promise, gather
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
)
from kcompat.security.authorizer import CLUSTER, Resource
from kcompat.security.operations import Operation
from kcompat.topics import by_topic, is_internal
from kcompat.transaction.requests import FIRST_WITH_FENCED, Errors, Producer, known_to

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext

FIRST_OF_BROKERS = 4

Requested = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction
TopicAnswer = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
PartitionAnswer = AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult
Answer = AddPartitionsToTxnResponse.AddPartitionsToTxnResult


def handle(
    context: RequestContext, request: AddPartitionsToTxnRequest
) -> AddPartitionsToTxnResponse | Promise[AddPartitionsToTxnResponse]:
    """Add partitions to transactions, or verify that they are in them."""
    if context.api_version < FIRST_OF_BROKERS:
        requested = Requested(
            request.v3_and_below_transactional_id,
            request.v3_and_below_producer_id,
            request.v3_and_below_producer_epoch,
            verify_only=False,
            topics=request.v3_and_below_topics,
        )
        return _of_client(context, requested).map(
            lambda errors: AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_by_topic(errors))
        )
    if not context.may(Operation.CLUSTER_ACTION, CLUSTER):
        return AddPartitionsToTxnResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    answers = [
        _add(context, requested, {}).map(partial(_answer, requested.transactional_id))
        for requested in request.transactions
    ]
    return gather(answers).map(lambda rows: AddPartitionsToTxnResponse(results_by_transaction=rows))


def _answer(transactional_id: str, errors: Errors) -> Answer:
    return Answer(transactional_id, _by_topic(errors))


def _of_client(context: RequestContext, requested: Requested) -> Promise[Errors]:
    if not context.may(Operation.WRITE, Resource.transactional_id(requested.transactional_id)):
        refused = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return Promise.resolved(dict.fromkeys(_partitions(requested), refused))
    denied = {
        topic.name
        for topic in requested.topics
        if is_internal(topic.name) or not context.may(Operation.WRITE, Resource.topic(topic.name))
    }
    return _add(
        context,
        requested,
        {each: ErrorCode.TOPIC_AUTHORIZATION_FAILED for each in _partitions(requested) if each[0] in denied}
        if denied
        else {},
    )


def _add(context: RequestContext, requested: Requested, refused: Errors) -> Promise[Errors]:
    image = context.services.cluster.metadata.image
    partitions = _partitions(requested)
    for each in partitions:
        if each not in refused and image.partition(*each) is None:
            refused[each] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if refused:
        rest = dict.fromkeys(partitions, ErrorCode.OPERATION_NOT_ATTEMPTED)
        return Promise.resolved(rest | refused)
    name, producer = requested.transactional_id, Producer(requested.producer_id, requested.producer_epoch)
    transactions = context.services.coordinators.transactions
    if requested.verify_only:
        return Promise.resolved(transactions.verify(name, producer, partitions))
    version = context.api_version
    client_version = VERSION_2 if version >= FIRST_OF_BROKERS else 0
    added = transactions.add_partitions(name, producer, partitions, client_version)

    def errors(error: ErrorCode) -> Errors:
        note_transaction(context, name, producer.epoch, error)
        return dict.fromkeys(partitions, known_to(version, FIRST_WITH_FENCED, error))

    return added.map(errors)


def _partitions(requested: Requested) -> list[tuple[str, int]]:
    return [(topic.name, index) for topic in requested.topics for index in topic.partitions]


def _by_topic(errors: Errors) -> list[TopicAnswer]:
    return [
        TopicAnswer(topic, [PartitionAnswer(index, errors[topic, index]) for index in indexes])
        for topic, indexes in by_topic(errors)
    ]
