"""InitProducerId: assigns a transactional id to a producer.

The new producer fences the former one with a higher epoch, or with another producer id when no epoch is left.
An open transaction of the former producer is aborted first. Kafka's counterpart:
`TransactionCoordinator.handleInitProducerId`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.transaction.base import busy_error, fence, producer_of, remember, write
from kcompat.transaction.requests import NeedsProducerId, Producer, ProducerAnswer
from kcompat.transaction.states import State
from kcompat.transaction.transaction import FENCING_EPOCH, LAST_EPOCH, Transaction

if TYPE_CHECKING:
    from kcompat.transaction.base import Transactions, TransactionTransition
    from kcompat.transaction.requests import InitRequest


def initialize(
    transition: TransactionTransition, request: InitRequest, fresh_id: int | None
) -> ProducerAnswer | NeedsProducerId:
    """Assign the transactional id to the producer that sent the request.

    `fresh_id` is an unused producer id, or None if none has been allocated yet. Returns
    CONCURRENT_TRANSACTIONS while a transaction is being ended, so that the client retries; PRODUCER_FENCED if
    the request expects another producer than the current one.
    """
    name, expected, shard = request.transactional_id, request.expected, transition.shard
    transaction = shard.transactions.get(name)
    if transaction is None:
        if fresh_id is None:
            return NeedsProducerId()
        begun = Transaction(fresh_id, 0, request.timeout_ms, State.EMPTY, transition.now_ms)
        return _give(transition, name, begun, Producer())
    if error := busy_error(transaction):
        return ProducerAnswer(error)
    before = _before(shard, name, transaction)
    if expected is not None and not _may_be(expected, transaction, before):
        return ProducerAnswer(ErrorCode.PRODUCER_FENCED)
    if transaction.state is State.ONGOING:
        fence(transition, name, transaction)
        return ProducerAnswer(ErrorCode.CONCURRENT_TRANSACTIONS)

    def given(producer_id: int, epoch: int, former: Producer) -> ProducerAnswer:
        after = transaction.given_to(producer_id, epoch, request.timeout_ms, transition.now_ms)
        return _give(transition, name, after, former)

    if expected is None or expected.epoch == transaction.producer_epoch:
        former = Producer() if expected is None else producer_of(transaction)
        if not transaction.is_exhausted:
            return given(transaction.producer_id, transaction.producer_epoch + 1, former)
    elif expected.epoch == before.epoch:  # the response with the new epoch was lost
        former = before
        if transaction.producer_epoch < FENCING_EPOCH:
            return given(transaction.producer_id, transaction.producer_epoch, former)
    else:
        return ProducerAnswer(ErrorCode.PRODUCER_FENCED)
    return NeedsProducerId() if fresh_id is None else given(fresh_id, 0, former)


def _may_be(expected: Producer, transaction: Transaction, before: Producer) -> bool:
    """Return whether a request may come from the current producer of the transactional id.

    The request names the current producer id or, if the epochs of the former id were used up, the former id.
    """
    is_former = expected.id in (before.id, transaction.previous_producer_id)
    return expected.id == transaction.producer_id or (is_former and expected.epoch >= LAST_EPOCH)


def _before(shard: Transactions, name: str, transaction: Transaction) -> Producer:
    """Return the producer that the current one replaced, or an empty producer if it is unknown."""
    producer, before = shard.before.get(name, (Producer(), Producer()))
    return before if producer == producer_of(transaction) else Producer()


def _give(
    transition: TransactionTransition, name: str, transaction: Transaction, before: Producer
) -> ProducerAnswer:
    producer = producer_of(transaction)
    write(transition, name, transaction)
    remember(transition, name, producer, before)
    return ProducerAnswer(producer=producer)
