"""The state of one partition of `__transaction_state`, as the operations on it use it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kcompat.log.verification import VERSION_2
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.transaction_log import TransactionLogKey
from kcompat.transaction.requests import Producer
from kcompat.transaction.serde import value_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.coordinator.timeline import TimelineDict
    from kcompat.coordinator.transition import Transition
    from kcompat.transaction.transaction import Transaction

    TransactionTransition = Transition["Transactions"]


class Transactions(Protocol):
    """Port to a shard of the transaction coordinator: the logged state, which operations read, and the
    unlogged state, which they change.
    """

    transactions: TimelineDict[str, Transaction]
    before: dict[str, tuple[Producer, Producer]]
    """Current producer of each transactional id, and the producer it replaced, by transactional id.

    The pair recognizes a request that the former producer sends again. It is in no record, so a new
    coordinator fences such a producer.
    """

    feature_level: Callable[[], int]
    """Function that returns the current level of `transaction.version`."""


def busy_error(transaction: Transaction | None) -> ErrorCode:
    """Return CONCURRENT_TRANSACTIONS while the markers of the id's last transaction are being written, else
    NONE.
    """
    is_ending = transaction is not None and transaction.state.is_prepared
    return ErrorCode.CONCURRENT_TRANSACTIONS if is_ending else ErrorCode.NONE


def producer_error(transaction: Transaction | None, producer: Producer) -> ErrorCode:
    """Return NONE if the id belongs to this producer, else INVALID_PRODUCER_ID_MAPPING or PRODUCER_FENCED."""
    if transaction is None or transaction.producer_id != producer.id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    return ErrorCode.NONE if transaction.producer_epoch == producer.epoch else ErrorCode.PRODUCER_FENCED


def producer_of(transaction: Transaction) -> Producer:
    """Return the current producer of the transactional id."""
    return Producer(transaction.producer_id, transaction.producer_epoch)


def remember(transition: TransactionTransition, name: str, producer: Producer, before: Producer) -> None:
    """Remember the producer that `name` had before this transition.

    The memory changes when the transition's record is appended; a refused append leaves it unchanged.
    """

    def noted(after: TransactionTransition) -> None:
        after.shard.before[name] = producer, before

    transition.once_appended(noted)


def fence(transition: TransactionTransition, name: str, transaction: Transaction) -> None:
    """Abort the open transaction in a higher epoch, which fences its producer.

    Since `transaction.version` 2 the fenced producer may request the new epoch with InitProducerId, as after
    an end of its own, because no other producer has the epoch.
    """
    fenced = transaction.fenced(transition.now_ms)
    write(transition, name, fenced)
    if transition.shard.feature_level() >= VERSION_2:
        remember(transition, name, producer_of(fenced), producer_of(transaction))


def write(transition: TransactionTransition, transactional_id: str, transaction: Transaction) -> None:
    """Add the record with the new state of a transactional id to the transition."""
    transaction.check_invariants()
    transition.write(
        TransactionLogKey(transactional_id), value_of(transaction, transition.shard.feature_level())
    )
