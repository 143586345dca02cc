"""Adding partitions to transactions (AddPartitionsToTxn, AddOffsetsToTxn), and verifying that partitions are
in a transaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.transaction.base import busy_error, producer_error, write
from kcompat.transaction.states import State

if TYPE_CHECKING:
    from collections.abc import Collection

    from kcompat.topics import TopicPartition
    from kcompat.transaction.base import Transactions, TransactionTransition
    from kcompat.transaction.requests import Errors, Producer


def add(
    transition: TransactionTransition,
    name: str,
    producer: Producer,
    partitions: Collection[TopicPartition],
    client_version: int,
) -> ErrorCode:
    """Add partitions to the producer's transaction, which begins if none is open."""
    transaction = transition.shard.transactions.get(name)
    if error := producer_error(transaction, producer) or busy_error(transaction):
        return error
    assert transaction is not None
    if transaction.state is not State.ONGOING or not transaction.partitions.issuperset(partitions):
        write(transition, name, transaction.with_partitions(partitions, client_version, transition.now_ms))
    return ErrorCode.NONE


def verify(
    shard: Transactions, name: str, producer: Producer, partitions: Collection[TopicPartition]
) -> Errors:
    """Return the error of each partition: NONE, or TRANSACTION_ABORTABLE if the partition is not in the
    producer's transaction.

    The verification (KIP-890) changes nothing and reads committed records only. An end of the transaction
    that is not committed yet is missed; the partition's leader checks again when it appends.
    """
    transaction = shard.transactions.committed(name)
    error = producer_error(transaction, producer)
    if transaction is not None and not error and transaction.state.is_prepared:
        error = ErrorCode.CONCURRENT_TRANSACTIONS
    if error or transaction is None:
        return dict.fromkeys(partitions, error)
    return {
        each: ErrorCode.NONE if each in transaction.partitions else ErrorCode.TRANSACTION_ABORTABLE
        for each in partitions
    }
