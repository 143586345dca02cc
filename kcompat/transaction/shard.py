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
    """The `Transactions` and the coordinator runtime's `Shard` of one partition. No request is
    parked here.
    """

    def __init__(
        self, decided: Callable[[str, Transaction], object], feature_level: Callable[[], int]
    ) -> None:
        """`decided(transactional_id, transaction)` has the markers of a transaction written. It is called
        again for the same transaction after the coordinator has loaded it.
        """
        self._timeline = Timeline(is_loading=True)
        self.transactions: TimelineDict[str, Transaction] = TimelineDict(self._timeline)
        self.before: dict[str, tuple[Producer, Producer]] = {}
        self.feature_level = feature_level
        self._decided = decided
        self._prepared: dict[str, int] = {}
        """Offset of the deciding record of each transaction whose markers have not been started, by
        transactional id.
        """

    def replay(self, record: CoordinatorRecord, position: ReplayPosition) -> None:
        """Apply one record."""
        key, value = record
        assert isinstance(key, TransactionLogKey)
        name = key.transactional_id
        self._prepared.pop(name, None)
        if value is None:
            self.transactions.set(name, None, position.offset)
            self.before.pop(name, None)
            return
        assert isinstance(value, TransactionLogValue)
        transaction = transaction_of(value)
        self.transactions.set(name, transaction, position.offset)
        if transaction.state.is_prepared:
            self._prepared[name] = position.offset

    def replay_end_transaction(self, producer_id: int, committed: bool, offset: int) -> None:
        """Ignore a transaction marker: no transaction writes into `__transaction_state`."""

    def committed(self, offset: int) -> None:
        """Make the records up to `offset` visible to readers, and write the markers of transactions decided
        in them.
        """
        self._timeline.commit(offset)
        if self._prepared and not self._timeline.is_loading:
            self._write_markers(offset)

    def loaded(self, now_ms: int) -> None:  # noqa: ARG002
        """Continue to write the markers of all decided transactions, after the log has been replayed."""
        self._timeline.loaded()
        self._write_markers(max(self._prepared.values(), default=-1))

    def _write_markers(self, offset: int) -> None:
        """Write the markers of transactions that records up to `offset` have decided.

        The markers are written even if the producer's EndTxn has timed out before the commit.
        """
        for name in [name for name, place in self._prepared.items() if place <= offset]:
            del self._prepared[name]
            transaction = self.transactions.get(name)
            assert transaction is not None
            self._decided(name, transaction)

    def unloaded(self) -> list[Answer]:
        """Return nothing: no request is parked here."""
        return []

    def check_invariants(self) -> None:
        """Assert the invariants of each transactional id."""
        for name, transaction in self.transactions.items():
            assert name
            transaction.check_invariants()
