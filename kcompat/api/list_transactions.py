"""ListTransactions (key 66), versions 0 and 1: the transactional ids that this broker coordinates (KIP-664).

Behaviour
- Ids that the client may not describe are left out. State filters that name no state are told.

Version notes
- 1: filters by how long a transaction is open (KIP-994). 2, which filters by a pattern of the id (KIP-1152),
  is not served yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from kcompat.transaction.describe import KNOWN_LABELS, STATE_OF_LABEL, TransactionFilter

if TYPE_CHECKING:
    from kcompat.api.context import RequestContext

Row = ListTransactionsResponse.TransactionState


def handle(context: RequestContext, request: ListTransactionsRequest) -> ListTransactionsResponse:
    """List those that pass the filters."""
    labels = list(dict.fromkeys(request.state_filters))
    wanted = TransactionFilter(
        states=frozenset(STATE_OF_LABEL[label] for label in labels if label in STATE_OF_LABEL)
        if labels
        else None,
        producer_ids=frozenset(request.producer_id_filters),
        longer_than_ms=request.duration_filter,
    )
    error, found = context.services.transactions.list_all(wanted)
    return ListTransactionsResponse(
        error_code=error,
        unknown_state_filters=[] if error else [label for label in labels if label not in KNOWN_LABELS],
        transaction_states=[
            Row(name, transaction.producer_id, transaction.state.label)
            for name, transaction in found
            if context.may(Operation.DESCRIBE, Resource.transactional_id(name))
        ],
    )
