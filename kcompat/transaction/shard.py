"""The transactional ids whose state lives in one partition of `__transaction_state`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.coordinator.timeline import Timeline, TimelineDict
from kcompat.protocol.messages.transaction_log import TransactionLogKey, TransactionLogValue
from kcompat.transaction.serde import transaction_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.coordinator.operation import Answer, CoordinatorRecord, ReplayPosition
    from kcompat.transaction.requests import Producer
    from kcompat.transaction.transaction import Transaction


class TransactionShard:
    """A `Transactions`, and the `Shard` of a coordinator's runtime. Nothing is parked here."""

    def __init__(
        self, decided: Callable[[str, Transaction], object], feature_level: Callable[[], int]
    ) -> None:
        """`decided(transactional_id, transaction)` has the markers of a transaction written. It may be called
        again for the same one, by a coordinator that has just loaded it.
        """
        self._timeline = Timeline()
        self.transactions: TimelineDict[str, Transaction] = TimelineDict(self._timeline)
        self.before: dict[str, tuple[Producer, Producer]] = {}
        self.feature_level = feature_level
        self._decided = decided

    def is_decided(self, transactional_id: str) -> None:
        """See `Transactions`."""
        transaction = self.transactions.get(transactional_id)
        if transaction is not None and transaction.state.is_prepared:
            self._decided(transactional_id, transaction)

    def replay(self, record: CoordinatorRecord, position: ReplayPosition) -> None:
        """Apply one record."""
        key, value = record
        assert isinstance(key, TransactionLogKey)
        name = key.transactional_id
        if value is None:
            self.transactions.set(name, None, position.offset)
            self.before.pop(name, None)
        else:
            assert isinstance(value, TransactionLogValue)
            self.transactions.set(name, transaction_of(value), position.offset)

    def replay_end_transaction(self, producer_id: int, committed: bool, offset: int) -> None:
        """No transaction writes into `__transaction_state`."""

    def committed(self, offset: int) -> None:
        """Records up to `offset` are committed."""
        self._timeline.commit(offset)

    def loaded(self, now_ms: int) -> None:  # noqa: ARG002
        """The log has been replayed: go on writing the markers of all that is decided."""
        for name, transaction in list(self.transactions.items()):
            if transaction.state.is_prepared:
                self._decided(name, transaction)

    def unloaded(self) -> list[Answer]:
        """The partition leaves this broker; nobody waits in it."""
        return []

    def check_invariants(self) -> None:
        """Assert what must always hold."""
        for name, transaction in self.transactions.items():
            assert name
            transaction.check_invariants()
