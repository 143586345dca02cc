"""The transactional ids of one partition of `__transaction_state`, as operations on them see their shard."""

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
    """The state of transactional ids that operations read, and the state outside the log that they change."""

    transactions: TimelineDict[str, Transaction]
    before: dict[str, tuple[Producer, Producer]]
    """The producer of an id, and who that was before the request that made it so: a request that is sent
    again is known by it. It is in no record, so a new coordinator fences who asks again.
    """

    feature_level: Callable[[], int]
    """Returns the current level of `transaction.version`."""


def busy_error(transaction: Transaction | None) -> ErrorCode:
    """CONCURRENT_TRANSACTIONS while the markers of an id's last transaction are to be written."""
    is_ending = transaction is not None and transaction.state.is_prepared
    return ErrorCode.CONCURRENT_TRANSACTIONS if is_ending else ErrorCode.NONE


def producer_error(transaction: Transaction | None, producer: Producer) -> ErrorCode:
    """Whether the id belongs to this producer."""
    if transaction is None or transaction.producer_id != producer.id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    return ErrorCode.NONE if transaction.producer_epoch == producer.epoch else ErrorCode.PRODUCER_FENCED


def producer_of(transaction: Transaction) -> Producer:
    """Return the producer that has the transactional id."""
    return Producer(transaction.producer_id, transaction.producer_epoch)


def remember(transition: TransactionTransition, name: str, producer: Producer, before: Producer) -> None:
    """Remember the producer that `name` had before this transition.

    Takes effect when the transition's record is appended; a refused append leaves the memory unchanged.
    """

    def noted(after: TransactionTransition) -> None:
        after.shard.before[name] = producer, before

    transition.once_appended(noted)


def fence(transition: TransactionTransition, name: str, transaction: Transaction) -> None:
    """Abort what is open in a higher epoch. Since `transaction.version` 2 its producer may ask for that
    epoch, as after an end of its own: nobody else has been given it.
    """
    fenced = transaction.fenced(transition.now_ms)
    write(transition, name, fenced)
    if transition.shard.feature_level() >= VERSION_2:
        remember(transition, name, producer_of(fenced), producer_of(transaction))


def write(transition: TransactionTransition, transactional_id: str, transaction: Transaction) -> None:
    """Write what an id is from now on."""
    transaction.check_invariants()
    transition.write(
        TransactionLogKey(transactional_id), value_of(transaction, transition.shard.feature_level())
    )
