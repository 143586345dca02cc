"""The states of a transactional id and the transitions between them (Kafka's `TransactionState`)."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


class State(IntEnum):
    """States of a transaction, as in the records of `__transaction_state`.

    Kafka's states Dead and PrepareEpochFence are never in a record: here an expired id is deleted at once,
    and a fence is an abort in a higher epoch.
    """

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5

    @property
    def label(self) -> str:
        """Name of the state in responses, such as "PrepareCommit"."""
        return self.name.title().replace("_", "")

    @property
    def is_prepared(self) -> bool:
        """Whether the end of the transaction is decided and its markers are being written."""
        return self in (State.PREPARE_COMMIT, State.PREPARE_ABORT)

    @property
    def is_over(self) -> bool:
        """Whether no transaction is open, so that the id can begin one, change its producer, or expire."""
        return self in (State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT)


_OVER: Final = frozenset({State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT})

PREVIOUS: Final[Mapping[State, frozenset[State]]] = {
    State.EMPTY: _OVER,
    State.ONGOING: _OVER | {State.ONGOING},
    State.PREPARE_COMMIT: frozenset({State.ONGOING}),
    State.PREPARE_ABORT: _OVER | {State.ONGOING},
    State.COMPLETE_COMMIT: frozenset({State.PREPARE_COMMIT}),
    State.COMPLETE_ABORT: frozenset({State.PREPARE_ABORT}),
}
"""States from which each state can be reached.

Since `transaction.version` 2 a producer may abort when no transaction is open (KIP-890).
"""
