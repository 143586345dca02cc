"""DescribeTransactions and ListTransactions (KIP-664): descriptions of transactional ids. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.protocol.errors import ErrorCode
from kcompat.transaction.states import State

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from kcompat.transaction.base import Transactions
    from kcompat.transaction.transaction import Transaction

STATE_OF_LABEL: Final = {state.label: state for state in State}
KNOWN_LABELS: Final = STATE_OF_LABEL.keys() | {"Dead", "PrepareEpochFence"}
"""Labels of states that a filter may name, including two states of Kafka that do not occur here."""


class DescribedTransaction(Struct, frozen=True):
    """The state of a transactional id, or the error that hides it."""

    error: ErrorCode = ErrorCode.NONE
    transaction: Transaction | None = None


class TransactionFilter(Struct, frozen=True):
    """A filter of transactional ids, which pass if they meet all of its conditions."""

    states: AbstractSet[State] | None = None
    producer_ids: AbstractSet[int] = frozenset()
    longer_than_ms: int = -1
    """Minimum age in ms of the open transaction; -1 for no condition. An id that never had a transaction
    always passes.
    """

    def passes(self, transaction: Transaction, now_ms: int) -> bool:
        """Return whether a transactional id passes the filter."""
        return (
            (not self.producer_ids or transaction.producer_id in self.producer_ids)
            and (self.states is None or transaction.state in self.states)
            and (self.longer_than_ms < 0 or now_ms - transaction.started_ms > self.longer_than_ms)
        )


def describe(shard: Transactions, name: str) -> DescribedTransaction:
    """Return the description of one id; TRANSACTIONAL_ID_NOT_FOUND if it is unknown."""
    transaction = shard.transactions.committed(name)
    error = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND if transaction is None else ErrorCode.NONE
    return DescribedTransaction(error, transaction)


def list_all(
    shard: Transactions, wanted: TransactionFilter, now_ms: int
) -> Iterator[tuple[str, Transaction]]:
    """Return the transactional ids of a shard that pass the filter."""
    for name, transaction in shard.transactions.committed_items():
        if wanted.passes(transaction, now_ms):
            yield name, transaction
