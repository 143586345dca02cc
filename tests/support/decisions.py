"""Rules for the records in the log of a transaction coordinator, checked record by record.

What was decided of a transaction, commit or abort, stays decided until it is done; states follow one another
as they may, and epochs only rise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.messages.transaction_log import TransactionLogKey, TransactionLogValue
from kcompat.records.batch import read_records
from kcompat.transaction.serde import TRANSACTION_SERDE, transaction_of
from kcompat.transaction.states import PREVIOUS, State
from support.guarded_store import ViolationError

if TYPE_CHECKING:
    from kcompat.transaction.transaction import Transaction

Decision = tuple[int, int, bool]
"""Producer id, epoch of the markers, and whether they commit."""


class Decisions:
    """Each transactional id as the log has it so far."""

    def __init__(self) -> None:
        self.transactions: dict[str, Transaction] = {}
        self.made: set[Decision] = set()
        """All that was ever decided."""

    def read(self, batch: memoryview) -> None:
        """The next batch of a log. Raises ViolationError."""
        for record in read_records(batch):
            parsed = TRANSACTION_SERDE.deserialize(record.key or b"", record.value)
            assert parsed is not None
            assert isinstance(parsed.key, TransactionLogKey)
            name = parsed.key.transactional_id
            if parsed.value is None:
                self._forget(name)
            else:
                assert isinstance(parsed.value, TransactionLogValue)
                self._follow(name, transaction_of(parsed.value))

    def _forget(self, name: str) -> None:
        before = self.transactions.pop(name, None)
        if before is not None and not before.state.is_over:
            raise ViolationError(f"I18: {name} was {before}, and then forgotten")

    def _follow(self, name: str, now: Transaction) -> None:
        before = self.transactions.get(name)
        self.transactions[name] = now
        if now.state.is_prepared:
            self.made.add((now.producer_id, now.producer_epoch, now.state is State.PREPARE_COMMIT))
        if before is None:
            return
        if before.state not in PREVIOUS[now.state]:
            raise ViolationError(f"I18: {name} was {before}, and then {now}")
        if now.producer_id == before.producer_id and now.producer_epoch < before.producer_epoch:
            raise ViolationError(f"I18: the epoch of {name} fell: it was {before}, and then {now}")

    def open(self) -> list[str]:
        """Return a sentence for each transaction that is not over."""
        return [f"{name} is {each}" for name, each in self.transactions.items() if not each.state.is_over]
