"""DescribeTransactions (key 65), version 0: the transactions of transactional ids that this broker
coordinates (KIP-664).

Behaviour
- Each transactional id has its own error. Topics that the client may not describe are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from kcompat.topics import by_topic

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext

Row = DescribeTransactionsResponse.TransactionState
TopicRow = DescribeTransactionsResponse.TopicData


def handle(context: RequestContext, request: DescribeTransactionsRequest) -> DescribeTransactionsResponse:
    """Describe the transaction of each transactional id."""
    return DescribeTransactionsResponse(
        transaction_states=[_describe(context, name) for name in request.transactional_ids]
    )


def _describe(context: RequestContext, name: str) -> Row:
    if not context.may(Operation.DESCRIBE, Resource.transactional_id(name)):
        return Row(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, name)
    found = context.services.coordinators.transactions.describe(name)
    transaction = found.transaction
    if transaction is None:
        return Row(found.error, name)
    topics = [
        TopicRow(topic, indexes)
        for topic, indexes in by_topic(transaction.partitions)
        if context.may(Operation.DESCRIBE, Resource.topic(topic))
    ]
    return Row(
        ErrorCode.NONE,
        name,
        transaction.state.label,
        transaction.timeout_ms,
        transaction.started_ms,
        transaction.producer_id,
        transaction.producer_epoch,
        topics,
    )
