"""The end of transactions: EndTxn, timeouts, and the completion once all markers are written.

A record decides the end, and nothing can change the end after that: each later coordinator has the markers
written until all are. Kafka's counterpart: `TransactionCoordinator.endTransaction`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.log.verification import VERSION_2
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.transaction_log import TransactionLogKey
from kcompat.transaction.base import busy_error, fence, producer_error, producer_of, remember, write
from kcompat.transaction.requests import NeedsProducerId, Producer, ProducerAnswer
from kcompat.transaction.states import State
from kcompat.transaction.transaction import FENCING_EPOCH, LAST_EPOCH, NO_PRODUCER_ID, Transaction

if TYPE_CHECKING:
    from kcompat.transaction.base import Transactions, TransactionTransition
    from kcompat.transaction.requests import EndRequest


def end(
    transition: TransactionTransition, request: EndRequest, fresh_id: int | None
) -> ProducerAnswer | NeedsProducerId:
    """Decide how the producer's transaction ends (EndTxn); return the producer id and epoch to continue with.

    Returns CONCURRENT_TRANSACTIONS while markers are being written, and NONE for a repeated request after
    that. Returns INVALID_TXN_STATE if the opposite end was decided, or if no transaction is open.
    """
    transaction = transition.shard.transactions.get(request.transactional_id)
    bumps, busy = request.client_version >= VERSION_2, busy_error(transaction)
    if bumps and busy:
        return ProducerAnswer(busy)  # the producer may have its next epoch already
    is_again = transaction is not None and bumps and _is_repeated(transaction, request)
    error = ErrorCode.NONE if is_again else producer_error(transaction, request.producer)
    if error := error or busy:
        return ProducerAnswer(error)
    assert transaction is not None
    if transaction.state is State.ONGOING:
        return _decide(transition, request, transaction, fresh_id)
    done = State.COMPLETE_COMMIT if request.commits else State.COMPLETE_ABORT
    if transaction.state is done and (is_again or not bumps):
        return ProducerAnswer(producer=_producer_after(transaction))
    if bumps and not request.commits and not is_again:
        # Since transaction.version 2 a write to a partition adds it. The producer cannot know whether any
        # write succeeded, so it may abort when no transaction is open.
        return _decide(transition, request, transaction, fresh_id)
    return ProducerAnswer(ErrorCode.INVALID_TXN_STATE)


def _decide(
    transition: TransactionTransition, request: EndRequest, transaction: Transaction, fresh_id: int | None
) -> ProducerAnswer | NeedsProducerId:
    bumps = request.client_version >= VERSION_2
    if bumps and request.commits and transaction.producer_epoch == FENCING_EPOCH:
        # No epoch is left for the markers. As in Kafka, the transaction is aborted when it times out.
        return ProducerAnswer(ErrorCode.UNKNOWN_SERVER_ERROR)
    next_id = NO_PRODUCER_ID
    if bumps and transaction.is_exhausted:
        if fresh_id is None:
            return NeedsProducerId()
        next_id = fresh_id
    decided = transaction.decided(request.commits, request.client_version, transition.now_ms, next_id)
    write(transition, request.transactional_id, decided)
    after = _producer_after(decided)
    if bumps:
        remember(transition, request.transactional_id, after, request.producer)
    return ProducerAnswer(producer=after)


def _is_repeated(transaction: Transaction, request: EndRequest) -> bool:
    """Return whether the request was executed before and its response was lost: it raised the epoch by one.

    In the states EMPTY and ONGOING another request has raised the epoch since.
    """
    if transaction.state in (State.EMPTY, State.ONGOING):
        return False
    producer = request.producer
    if transaction.producer_id == producer.id:
        return transaction.producer_epoch == producer.epoch + 1
    return (
        transaction.previous_producer_id == producer.id
        and producer.epoch == LAST_EPOCH
        and transaction.producer_epoch == 0
    )


def _producer_after(transaction: Transaction) -> Producer:
    """Return the producer id and epoch that the producer uses once the markers are written."""
    if transaction.next_producer_id != NO_PRODUCER_ID:
        return Producer(transaction.next_producer_id, 0)
    return producer_of(transaction)


def complete(transition: TransactionTransition, name: str, marked: Transaction) -> None:
    """Write that a transaction is complete, after all markers of `marked` are written or no longer needed.

    `marked` is the whole state at the decision; nothing is written if the id has another state now. To
    compare producers is not enough: before `transaction.version` 2 the next transaction has the same epoch.
    """
    if transition.shard.transactions.get(name) == marked:
        write(transition, name, marked.completed(transition.now_ms))


def overdue(shard: Transactions, now_ms: int) -> list[str]:
    """Return the ids whose transaction has been open for longer than its timeout."""
    return [name for name, transaction in shard.transactions.items() if _is_overdue(transaction, now_ms)]


def abort_overdue(transition: TransactionTransition, name: str) -> Transaction | None:
    """Abort the transaction of one id in a higher epoch, if it is still overdue; return it as it was, or
    None.

    Each id has its own operation, because the batch of many aborts could exceed the topic's batch limit.
    """
    transaction = transition.shard.transactions.get(name)
    if transaction is None or not _is_overdue(transaction, transition.now_ms):
        return None
    fence(transition, name, transaction)
    return transaction


def _is_overdue(transaction: Transaction, now_ms: int) -> bool:
    is_open = transaction.state is State.ONGOING
    return is_open and transaction.started_ms + transaction.timeout_ms < now_ms


MAX_TOMBSTONES = 1000
"""Largest number of tombstones of one operation, which keeps its batch below the topic's limit."""


def expire(transition: TransactionTransition, retention_ms: int) -> bool:
    """Write tombstones for ids that were unused for `retention_ms`; return False if more may have expired."""
    expired = [
        name
        for name, transaction in transition.shard.transactions.items()
        if transaction.state.is_over and transaction.updated_ms <= transition.now_ms - retention_ms
    ][:MAX_TOMBSTONES]
    for name in expired:
        transition.write(TransactionLogKey(name), None)
    return len(expired) < MAX_TOMBSTONES
