"""The state of a transactional id: its producer and its transaction. Pure.

Every change is a method that returns the new value; times are arguments, and there are no logs or markers.
Kafka's counterpart: `TransactionMetadata`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from kcompat.log.verification import VERSION_2
from kcompat.transaction.states import PREVIOUS, State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.topics import TopicPartition


NO_PRODUCER_ID: Final = -1
NO_TIMESTAMP: Final = -1
LAST_EPOCH: Final = 32_766
"""Last epoch that a producer can get; one more is reserved to fence it (Kafka's `isEpochExhausted`)."""
FENCING_EPOCH: Final = LAST_EPOCH + 1
"""Highest epoch. A transaction that is open in it, which should not happen, is aborted in the same epoch."""


class Transaction(Struct, frozen=True):
    """The state of a transactional id; times in ms since the epoch."""

    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: State
    updated_ms: int
    started_ms: int = NO_TIMESTAMP
    """Time when the first partition was added to the open transaction, or to the last one."""
    partitions: frozenset[TopicPartition] = frozenset()
    """Partitions in which markers have to be written."""
    previous_producer_id: int = NO_PRODUCER_ID
    """Producer id before the last change of state."""
    next_producer_id: int = NO_PRODUCER_ID
    """Producer id after the transaction that is being ended, if the current id has no epoch left; else -1."""
    client_version: int = 0
    """The `transaction.version` of the client at its last write."""

    @property
    def is_exhausted(self) -> bool:
        """Whether the producer id has no epoch left."""
        return self.producer_epoch >= LAST_EPOCH

    @property
    def _fencing_epoch(self) -> int:
        """The next epoch, in which an abort fences the producer; the highest epoch stays, as in Kafka."""
        return min(self.producer_epoch + 1, FENCING_EPOCH)

    def given_to(self, producer_id: int, producer_epoch: int, timeout_ms: int, now_ms: int) -> Transaction:
        """Return the id with another producer id or epoch and without an open transaction."""
        return self._to(
            State.EMPTY,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            timeout_ms=timeout_ms,
            started_ms=NO_TIMESTAMP,
            updated_ms=now_ms,
        )

    def with_partitions(
        self, partitions: Iterable[TopicPartition], client_version: int, now_ms: int
    ) -> Transaction:
        """Return the transaction with these partitions added; it begins now if none was open."""
        return self._to(
            State.ONGOING,
            partitions=self.partitions.union(partitions),
            started_ms=now_ms if self.state.is_over else self.started_ms,
            updated_ms=now_ms,
            client_version=client_version,
        )

    def decided(
        self, commits: bool, client_version: int, now_ms: int, next_producer_id: int = NO_PRODUCER_ID
    ) -> Transaction:
        """Return the transaction after its end is decided.

        Since `transaction.version` 2 the epoch rises by one. `next_producer_id` replaces an id whose epochs
        are used up.
        """
        epoch = self.producer_epoch
        if client_version >= VERSION_2:
            epoch = epoch + 1 if commits else self._fencing_epoch
        return self._to(
            State.PREPARE_COMMIT if commits else State.PREPARE_ABORT,
            producer_epoch=epoch,
            started_ms=now_ms if self.state.is_over else self.started_ms,
            updated_ms=now_ms,
            client_version=client_version,
            next_producer_id=next_producer_id,
        )

    def fenced(self, now_ms: int) -> Transaction:
        """Return the aborted transaction in a new epoch, which no client gets and which fences the
        producer.
        """
        return self._to(
            State.PREPARE_ABORT, producer_epoch=self._fencing_epoch, updated_ms=now_ms, client_version=0
        )

    def completed(self, now_ms: int) -> Transaction:
        """Return the transaction after all its markers are written."""
        follows = self.next_producer_id != NO_PRODUCER_ID
        return self._to(
            State.COMPLETE_COMMIT if self.state is State.PREPARE_COMMIT else State.COMPLETE_ABORT,
            producer_id=self.next_producer_id if follows else self.producer_id,
            producer_epoch=0 if follows else self.producer_epoch,
            partitions=frozenset(),
            updated_ms=now_ms,
            next_producer_id=NO_PRODUCER_ID,
        )

    def _to(self, state: State, **changes: object) -> Transaction:
        assert self.state in PREVIOUS[state], f"{self.state.label} then {state.label}"
        changed = {"partitions": frozenset(), **changes} if state is State.EMPTY else changes
        return replace(self, state=state, previous_producer_id=self.producer_id, **changed)

    def check_invariants(self) -> None:
        """Assert the invariants of ids, epochs, partitions and times in each state."""
        assert self.producer_id >= 0
        assert 0 <= self.producer_epoch <= FENCING_EPOCH
        assert not self.partitions or not self.state.is_over
        assert (self.started_ms == NO_TIMESTAMP) == (self.state is State.EMPTY)
        assert self.next_producer_id == NO_PRODUCER_ID or self.state.is_prepared
