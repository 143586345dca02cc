"""ListTransactions (key 66), versions 0-2: the transactional ids that this broker coordinates (KIP-664).

Behaviour
- Transactional ids that the client may not describe are left out. The response lists the state filters that
  name no known state.

Version notes
- 1: a filter by the time since the transaction began (KIP-994).
- 2: a filter by an RE2 pattern that has to match the whole id (KIP-1152); an invalid pattern gets
  INVALID_REGULAR_EXPRESSION.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from kcompat.regex.pattern import problem
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from kcompat.transaction.describe import KNOWN_LABELS, STATE_OF_LABEL, TransactionFilter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.api.context import RequestContext
    from kcompat.promise import Promise
    from kcompat.transaction.transaction import Transaction

Row = ListTransactionsResponse.TransactionState


def handle(
    context: RequestContext, request: ListTransactionsRequest
) -> ListTransactionsResponse | Promise[ListTransactionsResponse]:
    """List the transactional ids that pass the filters."""
    transactions, pattern = context.services.coordinators.transactions, request.transactional_id_pattern
    labels = list(dict.fromkeys(request.state_filters))
    error, found = transactions.list_all(_filter(request, labels))
    if error or (pattern and problem(pattern)):
        return ListTransactionsResponse(error_code=error or ErrorCode.INVALID_REGULAR_EXPRESSION)
    visible = [
        (name, transaction)
        for name, transaction in found
        if context.may(Operation.DESCRIBE, Resource.transactional_id(name))
    ]
    unknown = [label for label in labels if label not in KNOWN_LABELS]
    if not pattern:
        return _response(unknown, visible)
    return transactions.matching(pattern, [name for name, _ in visible]).map(
        lambda matching: _response(unknown, [row for row in visible if row[0] in matching])
    )


def _filter(request: ListTransactionsRequest, labels: Sequence[str]) -> TransactionFilter:
    return TransactionFilter(
        states=frozenset(STATE_OF_LABEL[label] for label in labels if label in STATE_OF_LABEL)
        if labels
        else None,
        producer_ids=frozenset(request.producer_id_filters),
        longer_than_ms=request.duration_filter,
    )


def _response(unknown: list[str], found: Sequence[tuple[str, Transaction]]) -> ListTransactionsResponse:
    return ListTransactionsResponse(
        unknown_state_filters=unknown,
        transaction_states=[
            Row(name, transaction.producer_id, transaction.state.label) for name, transaction in found
        ],
    )
