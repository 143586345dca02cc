"""The producers of a log: sequences, epochs, open transactions (ProducerStateManager, KIP-98, KIP-360).

The state machine does no I/O: `check` decides whether a batch may be appended, `note` records one that was.
Times are in ms.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import msgspec

from kcompat.log.refusals import Refusals
from kcompat.log.txn_index import AbortedTransaction
from kcompat.log.verification import VERSION_2, VerificationGuard
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.log.append import AppendTerms
    from kcompat.records.batch import BatchHeader
    from kcompat.records.control import EndTransactionMarker

BATCHES_KEPT: Final = 5
NO_SEQUENCE: Final = -1
_SEQUENCE_MASK: Final = 0x7FFFFFFF
_LAST_EPOCH: Final = 0x7FFF


class BatchMetadata(msgspec.Struct, frozen=True, gc=False):
    """A remembered batch of a producer, by which a retry of it is recognised."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        """Sequence of the batch's first record."""
        return (self.last_sequence - self.offset_delta) & _SEQUENCE_MASK

    @property
    def first_offset(self) -> int:
        """Offset of the batch's first record."""
        return self.last_offset - self.offset_delta


class ProducerEntry(msgspec.Struct):
    """One producer in one partition (ProducerStateEntry); -1 stands for "none"."""

    producer_id: int
    epoch: int
    last_timestamp: int = -1
    coordinator_epoch: int = -1
    current_txn_start_offset: int = -1
    batches: list[BatchMetadata] = []

    @property
    def last_sequence(self) -> int:
        """Sequence of the producer's newest record here; -1 when only markers are known."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        """Offset of the producer's newest record here; -1 when only markers are known."""
        return self.batches[-1].last_offset if self.batches else -1

    def note(self, batch: BatchMetadata) -> None:
        """Remember the newest batch, and drop the oldest if there are more than five."""
        batches = self.batches
        batches.append(batch)
        if len(batches) > BATCHES_KEPT:
            del batches[0]


class ProducerState:
    """All producers of one log, for records below `end_offset`."""

    __slots__ = ("_open", "_unreplicated", "_verifications", "end_offset", "entries", "refusals")

    def __init__(self, entries: list[ProducerEntry] | None = None, end_offset: int = 0) -> None:
        self.entries = {entry.producer_id: entry for entry in entries or ()}
        self.end_offset = end_offset
        self._open = {
            entry.producer_id: entry.current_txn_start_offset
            for entry in entries or ()
            if entry.current_txn_start_offset >= 0
        }
        self._unreplicated: list[tuple[int, int]] = []
        self.refusals = Refusals()
        """Runs of refused batches, whose successors are refused with the same error."""
        self._verifications: dict[int, VerificationGuard] = {}

    # -- checks ----------------------------------------------------------------------------------------------

    def begin_verification(
        self, producer_id: int, epoch: int, sequence: int, now_ms: int, *, adds: bool
    ) -> VerificationGuard | ErrorCode:
        """Return the verification that the producer needs before it may write here, or an error code if it
        needs none.

        The code is NONE if its transaction has begun here already, INVALID_PRODUCER_EPOCH for a producer that
        was fenced.
        """
        entry = self.entries.get(producer_id)
        if entry is not None and epoch < entry.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if self._is_open(entry, epoch):
            return ErrorCode.NONE
        known = self._verifications.get(producer_id)
        if known is None:
            known = self._verifications[producer_id] = VerificationGuard(epoch, sequence, now_ms, adds=adds)
        else:
            known.note(epoch, sequence)
        return known

    @staticmethod
    def _is_open(entry: ProducerEntry | None, epoch: int) -> bool:
        return entry is not None and entry.current_txn_start_offset >= 0 and entry.epoch == epoch

    def check(
        self, header: BatchHeader, marker: EndTransactionMarker | None, terms: AppendTerms
    ) -> ErrorCode | BatchMetadata:
        """Return NONE if the batch may be appended, the error that refuses it, or the earlier batch that it
        repeats.

        `marker` is the content of a batch that ends a transaction.
        """
        if marker is not None:
            return self._check_marker(header, marker, terms.transaction_version)
        entry, in_sequence = self.entries.get(header.producer_id), True
        epoch, sequence = header.producer_epoch, header.base_sequence
        if entry is not None:
            in_sequence = sequence == next_sequence(entry, epoch)
            if not in_sequence and epoch == entry.epoch and terms.is_client:
                repeated = find_duplicate(entry, sequence, header.last_sequence)
                if repeated is not None:
                    return repeated
            if epoch < entry.epoch:
                return ErrorCode.INVALID_PRODUCER_EPOCH
        if header.is_transactional and not self._is_open(entry, epoch) and not self._is_proven(header, terms):
            return ErrorCode.INVALID_TXN_STATE
        if terms.is_client:
            if not in_sequence or entry is None:
                expected = None if entry is None else next_sequence(entry, epoch)
                reason = self.refusals.reason(header, expected)
                if reason:
                    return reason
            if not in_sequence or self._overtakes(header):
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            if entry is not None and entry.current_txn_start_offset >= 0 and not header.is_transactional:
                return ErrorCode.INVALID_TXN_STATE
        return ErrorCode.NONE

    def _is_proven(self, header: BatchHeader, terms: AppendTerms) -> bool:
        proof = terms.proof
        if proof is None:
            return not terms.needs_proof or header.is_control
        return self._verifications.get(header.producer_id) is proof

    def _overtakes(self, header: BatchHeader) -> bool:
        """Return whether an earlier batch of the producer has still to be written."""
        known = self._verifications.get(header.producer_id)
        if known is None:
            return False
        is_first_ever = known.adds and header.producer_id not in self.entries
        return header.base_sequence > (0 if is_first_ever else known.lowest_sequence)

    def _check_marker(
        self, header: BatchHeader, marker: EndTransactionMarker, transaction_version: int
    ) -> ErrorCode:
        entry = self.entries.get(header.producer_id)
        if entry is not None:
            epoch = header.producer_epoch
            # The transaction is no longer open when its marker is sent again (KAFKA-19999).
            is_again = entry.current_txn_start_offset < 0 or epoch == _LAST_EPOCH
            has_risen = epoch > entry.epoch or (epoch == entry.epoch and is_again)
            if epoch < entry.epoch or (transaction_version >= VERSION_2 and not has_risen):
                return ErrorCode.INVALID_PRODUCER_EPOCH
            if marker.coordinator_epoch < entry.coordinator_epoch:
                return ErrorCode.TRANSACTION_COORDINATOR_FENCED
        return ErrorCode.NONE

    # -- changes ---------------------------------------------------------------------------------------------

    def note(
        self, header: BatchHeader, marker: EndTransactionMarker | None, base_offset: int, timestamp: int
    ) -> AbortedTransaction | None:
        """Record a batch appended at `base_offset`, whose largest timestamp is `timestamp`; `marker` as in
        `check`.

        Returns the entry for the transaction index if the batch aborts a transaction with data.
        """
        self.end_offset = base_offset + header.last_offset_delta + 1
        if self.refusals.runs:
            self.refusals.forget(header.producer_id)
        if self._verifications:
            self._forget_verification(header)
        if marker is not None:
            return self._complete(header, base_offset, marker)
        if not header.is_control:
            self._update(header, base_offset, timestamp)
        return None

    def _forget_verification(self, header: BatchHeader) -> None:
        known = self._verifications.get(header.producer_id)
        if known is not None and not known.outlasts(header):
            del self._verifications[header.producer_id]

    def _update(self, header: BatchHeader, base_offset: int, timestamp: int) -> None:
        """Record a data batch appended at `base_offset`; `timestamp` is its largest."""
        producer_id, epoch, delta = header.producer_id, header.producer_epoch, header.last_offset_delta
        entry = self._entry(producer_id, epoch)
        entry.last_timestamp = timestamp
        if header.base_sequence >= 0:
            entry.note(BatchMetadata(header.last_sequence, base_offset + delta, delta, timestamp))
        if header.is_transactional and entry.current_txn_start_offset < 0:
            entry.current_txn_start_offset = self._open[producer_id] = base_offset

    def _complete(
        self, header: BatchHeader, offset: int, marker: EndTransactionMarker
    ) -> AbortedTransaction | None:
        """Record a marker appended at `offset`; return the transaction index's entry if it aborts data."""
        entry = self._entry(header.producer_id, header.producer_epoch)
        entry.last_timestamp = header.max_timestamp
        entry.coordinator_epoch = max(entry.coordinator_epoch, marker.coordinator_epoch)
        first = entry.current_txn_start_offset
        if first < 0:
            return None
        entry.current_txn_start_offset = -1
        del self._open[header.producer_id]
        self._unreplicated.append((first, offset))
        if marker.type:
            return None
        return AbortedTransaction(
            header.producer_id, first, offset, min(self._open.values(), default=offset + 1)
        )

    def _entry(self, producer_id: int, epoch: int) -> ProducerEntry:
        entry = self.entries.get(producer_id)
        if entry is None:
            entry = self.entries[producer_id] = ProducerEntry(producer_id, epoch)
        elif entry.epoch != epoch:
            entry.epoch = epoch
            entry.batches = []
        return entry

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Remove producers without an open transaction that wrote nothing for `expiration_ms`.

        Verifications of that age and all refusals are removed as well.
        """
        self.refusals.forget_all()
        gone = [
            entry.producer_id
            for entry in self.entries.values()
            if entry.current_txn_start_offset < 0 and now_ms - entry.last_timestamp >= expiration_ms
        ]
        for producer_id in gone:
            del self.entries[producer_id]
        for producer_id, verification in list(self._verifications.items()):
            if now_ms - verification.began_ms >= expiration_ms:
                del self._verifications[producer_id]

    # -- transactions ----------------------------------------------------------------------------------------

    @property
    def first_open_offset(self) -> int | None:
        """First offset of the earliest transaction that is still open."""
        return min(self._open.values()) if self._open else None

    def first_unstable_offset(self, high_watermark: int) -> int | None:
        """First offset of the earliest transaction that is open or whose marker is not below the high
        watermark.
        """
        waiting = self._unreplicated
        if waiting:
            waiting = self._unreplicated = [entry for entry in waiting if entry[1] >= high_watermark]
        offsets = [first for first, _ in waiting]
        offsets.extend(self._open.values())
        return min(offsets, default=None)

    def last_stable_offset(self, log_start_offset: int, high_watermark: int) -> int:
        """Return the last stable offset, where read_committed stops: the first unstable offset, at most the
        high watermark. Records may be deleted while their transaction is open; a reader cannot stop before
        the log starts.
        """
        if not self._open and not self._unreplicated:
            return high_watermark
        unstable = self.first_unstable_offset(high_watermark)
        if unstable is None:
            return high_watermark
        return min(max(unstable, log_start_offset), high_watermark)

    def check_invariants(self) -> None:
        """Assert that open transactions and remembered batches agree with each other."""
        for entry in self.entries.values():
            assert len(entry.batches) <= BATCHES_KEPT
            assert self._open.get(entry.producer_id, -1) == entry.current_txn_start_offset
            for before, after in pairwise(entry.batches):
                assert before.last_offset < after.first_offset
            assert entry.last_offset < self.end_offset


def find_duplicate(entry: ProducerEntry, first_sequence: int, last_sequence: int) -> BatchMetadata | None:
    """Return the remembered batch with exactly these sequences; None if there is none."""
    for batch in entry.batches:
        if batch.last_sequence == last_sequence and batch.first_sequence == first_sequence:
            return batch
    return None


def next_sequence(entry: ProducerEntry, epoch: int) -> int:
    """Return the sequence with which the next batch of a producer begins in `epoch`: the one after its last,
    or 0 in a new epoch or where no batch of it is known.
    """
    if epoch != entry.epoch or not entry.batches:
        return 0
    return (entry.batches[-1].last_sequence + 1) & _SEQUENCE_MASK
