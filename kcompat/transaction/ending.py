"""The end of transactions: EndTxn, timeouts, and the completion once all markers are written.

The end is decided by a record, and from then on nothing can change it: whoever coordinates has the markers
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
    """EndTxn: decide how the producer's transaction ends, and tell what the producer goes on with.

    CONCURRENT_TRANSACTIONS as long as markers are being written. After that, who asks again is told that it
    is done; INVALID_TXN_STATE where the other end was decided, or nothing is open.
    """
    transaction = transition.shard.transactions.get(request.transactional_id)
    bumps, busy = request.client_version >= VERSION_2, busy_error(transaction)
    if bumps and busy:
        return ProducerAnswer(busy)  # the producer may have been told already what it is after that
    is_again = transaction is not None and bumps and _is_asked_again(transaction, request)
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
        # Since transaction.version 2 partitions are added by what is written to them, so the producer cannot
        # know whether any was: it may abort where nothing is open.
        return _decide(transition, request, transaction, fresh_id)
    return ProducerAnswer(ErrorCode.INVALID_TXN_STATE)


def _decide(
    transition: TransactionTransition, request: EndRequest, transaction: Transaction, fresh_id: int | None
) -> ProducerAnswer | NeedsProducerId:
    bumps = request.client_version >= VERSION_2
    if bumps and request.commits and transaction.producer_epoch == FENCING_EPOCH:
        # No epoch is left for the markers. As on a Kafka broker it is aborted when it is overdue.
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


def _is_asked_again(transaction: Transaction, request: EndRequest) -> bool:
    """Whether the epoch was raised by this very request before, whose answer was lost. Where a transaction is
    open, or an id was given anew, it was raised by something else.
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
    """Return the producer id and epoch with which the producer goes on once the markers are written."""
    if transaction.next_producer_id != NO_PRODUCER_ID:
        return Producer(transaction.next_producer_id, 0)
    return producer_of(transaction)


def complete(transition: TransactionTransition, name: str, marked: Transaction) -> None:
    """All markers of `marked`, as it was decided, are written, or are nobody's any more.

    Nothing happens where the id is something else by now. Its producer does not tell: before
    `transaction.version` 2 the next transaction has the same epoch, and markers of its own to wait for.
    """
    if transition.shard.transactions.get(name) == marked:
        write(transition, name, marked.completed(transition.now_ms))


def overdue(shard: Transactions, now_ms: int) -> list[str]:
    """The ids whose transaction has been open for longer than its producer said."""
    return [name for name, transaction in shard.transactions.items() if _is_overdue(transaction, now_ms)]


def abort_overdue(transition: TransactionTransition, name: str) -> None:
    """Abort the transaction of one id in a higher epoch, if it is still overdue.

    One is one operation: a batch of many may be more than the topic takes.
    """
    transaction = transition.shard.transactions.get(name)
    if transaction is not None and _is_overdue(transaction, transition.now_ms):
        fence(transition, name, transaction)


def _is_overdue(transaction: Transaction, now_ms: int) -> bool:
    is_open = transaction.state is State.ONGOING
    return is_open and transaction.started_ms + transaction.timeout_ms < now_ms


MAX_TOMBSTONES = 1000
"""Largest number of tombstones of one operation, which keeps its batch below the topic's limit."""


def expire(transition: TransactionTransition, retention_ms: int) -> bool:
    """Forget ids that nobody has used for `retention_ms`; False if there may be more."""
    expired = [
        name
        for name, transaction in transition.shard.transactions.items()
        if transaction.state.is_over and transaction.updated_ms <= transition.now_ms - retention_ms
    ][:MAX_TOMBSTONES]
    for name in expired:
        transition.write(TransactionLogKey(name), None)
    return len(expired) < MAX_TOMBSTONES
