"""A share partition on the leader of its partition, as a state machine without IO.

The leader reads records from `next_fetch_offset`, acquires them for members, and stores each change before
the members' acknowledgements take effect. Kafka's counterpart: `SharePartition`, whose locks, timers and
calls to the persister are in `kcompat.share.leading` here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.share.partition.acknowledgement import Acknowledging, expire, release, settle
from kcompat.share.partition.acquisition import Acquisition, gap, without
from kcompat.share.partition.in_flight import TERMINAL, InFlightBatch, RecordState, Span, SpanChange
from kcompat.share.partition.window import DeliveryWindow
from kcompat.share.persister import Outcome, StateWrite

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kcompat.share.batches import StateBatch
    from kcompat.share.partition.acknowledgement import Acknowledgement
    from kcompat.share.partition.acquisition import Acquired, AcquisitionSpec, FetchedBatch
    from kcompat.share.partition.limits import ShareLimits


_STORED: Final = TERMINAL | {RecordState.AVAILABLE}


class DamagedStateError(Exception):
    """Error raised if the stored state of a share partition contradicts itself."""


class SharePartition:
    """State of a partition's records for a share group: not yet fetched, in flight, or finished.

    The caller has to call `expire` at `lock_ends_ms`; acquisition locks end only then.
    """

    def __init__(
        self, state_epoch: int, leader_epoch: int, start_offset: int, stored: Iterable[StateBatch]
    ) -> None:
        """Restore a share partition from `stored`, the stored state of the records from `start_offset` on.

        Raises DamagedStateError.
        """
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.lock_ends_ms: int | None = None
        """Time in ms at which the first lock may end; None while nothing is acquired."""
        self._window = DeliveryWindow(start_offset, _restored(start_offset, stored))

    @property
    def start_offset(self) -> int:
        """Offset below which all records are finished."""
        return self._window.start_offset

    @property
    def end_offset(self) -> int:
        """Offset after the last record that has been fetched."""
        return self._window.end_offset

    @property
    def next_fetch_offset(self) -> int:
        """Offset of the first record that can be acquired, where the next read begins."""
        return self._window.next_fetch_offset()

    def can_acquire(self, limits: ShareLimits) -> bool:
        """Return whether a read can acquire records: released records, or new records within `limits`."""
        window = self._window
        return window.next_fetch_offset() != window.end_offset or window.in_flight < limits.max_record_locks

    def acquire(
        self,
        spec: AcquisitionSpec,
        fetched: Sequence[FetchedBatch],
        aborted: Sequence[FetchedBatch],
        limits: ShareLimits,
        now_ms: int,
    ) -> list[Acquired]:
        """Acquire fetched records for a member, and archive the records of aborted transactions."""
        acquired = Acquisition(self._window, spec, limits, now_ms).run(fetched)
        if acquired:
            self._locked_until(now_ms + limits.record_lock_duration_ms)
        if acquired and aborted:
            for batch in aborted:
                self._window.archive_acquired(batch.first, batch.last)
            self._window.advance()
            return without(acquired, aborted)
        return acquired

    def acknowledge(
        self, member_id: str, said: Iterable[Acknowledgement], limits: ShareLimits, now_ms: int
    ) -> SpanChange | Outcome:
        """Begin a member's acknowledgements; return the change, or the reason why they are refused."""
        begun = Acknowledging(self._window, member_id, limits, now_ms).run(said)
        if self.lock_ends_ms is not None:  # a renewed lock may end first if the lock duration was shortened
            self._locked_until(now_ms + limits.record_lock_duration_ms)
        return begun

    def release(self, member_id: str, limits: ShareLimits) -> SpanChange:
        """Begin to release the records of a departed member; return the change."""
        return release(self._window, member_id, limits)

    def settle(self, change: SpanChange, limits: ShareLimits, now_ms: int, *, is_stored: bool) -> None:
        """Keep a change if its write was stored, else take the change back."""
        settle(self._window, change, limits, now_ms, is_stored=is_stored)
        for span in change.spans:
            if span.state is RecordState.ACQUIRED:
                self._locked_until(span.locked_until_ms)

    def expire(self, limits: ShareLimits, now_ms: int) -> list[StateBatch]:
        """Release the records whose locks have ended; return the batches to store, which are in force at
        once.
        """
        stored, self.lock_ends_ms = expire(self._window, limits, now_ms)
        return stored

    def log_starts_at(self, offset: int) -> None:
        """Drop the records below `offset`, the new start of the log."""
        if offset > self._window.start_offset:
            self._window.start_at(offset)

    def write(self, batches: Sequence[StateBatch]) -> StateWrite:
        """Return the write that stores `batches` with the current start offset and epochs."""
        window = self._window
        return StateWrite(
            self.state_epoch,
            self.leader_epoch,
            window.start_offset,
            window.delivery_complete_count,
            tuple(batches),
        )

    def spans(self) -> Iterator[Span]:
        """Return the spans of records in flight, in order."""
        return self._window.spans()

    def _locked_until(self, end_ms: int) -> None:
        if self.lock_ends_ms is None or end_ms < self.lock_ends_ms:
            self.lock_ends_ms = end_ms

    def check_invariants(self) -> None:
        """Assert the invariants of the window, and that `lock_ends_ms` is not after the end of any lock."""
        self._window.check_invariants()
        for span in self._window.spans():
            if span.state is RecordState.ACQUIRED:
                assert self.lock_ends_ms is not None
                assert self.lock_ends_ms <= span.locked_until_ms


def _restored(start_offset: int, stored: Iterable[StateBatch]) -> list[InFlightBatch]:
    """Return the batches in flight that the former leader stored, and the gaps between them."""
    batches: list[InFlightBatch] = []
    behind = start_offset
    for each in stored:
        if not behind <= each.first_offset <= each.last_offset:
            raise DamagedStateError(f"{each} is stored behind offset {behind}")
        if each.first_offset > behind:
            batches.append(gap(behind, each.first_offset - 1))
        if each.delivery_state not in _STORED:
            raise DamagedStateError(f"{each} is stored in a state that is never stored")
        state = RecordState(each.delivery_state)
        span = Span(each.first_offset, each.last_offset, state, each.delivery_count)
        batches.append(InFlightBatch([span]))
        behind = each.last_offset + 1
    return batches
