"""Acquisition of fetched records for a member, as ranges. Pure.

Records that were in flight before are acquired if they are available; new records are added. Record batches
of the log are acquired whole, and the last one may exceed the number of wanted records, unless the member
requests an exact limit (`AcquireMode.RECORD_LIMIT`). Kafka's counterpart: `SharePartition.acquire`.

Records with a high delivery count are acquired in smaller numbers, and records on their last delivery one by
one. So a record that no member can process does not cause its neighbours to be archived.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcompat.share.partition.in_flight import InFlightBatch, RecordState, Span
from kcompat.share.partition.limits import AcquireMode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.share.partition.limits import ShareLimits
    from kcompat.share.partition.window import DeliveryWindow

ISOLATING_LIMIT = 2
"""Highest delivery limit at which records on their last delivery are not isolated."""


class FetchedBatch(NamedTuple):
    """First and last offset of a record batch of the log."""

    first: int
    last: int


class AcquisitionSpec(NamedTuple):
    """The limits of a member's fetch from `fetch_offset`."""

    member_id: str
    fetch_offset: int
    max_records: int
    batch_size: int
    """Number of records that a range should not exceed. Record batches are not split for it."""
    mode: AcquireMode


class Acquired(NamedTuple):
    """A range of acquired records, and their delivery count."""

    first_offset: int
    last_offset: int
    delivery_count: int


class Acquisition:
    """The acquisition for one fetch: the ranges acquired so far."""

    def __init__(
        self, window: DeliveryWindow, spec: AcquisitionSpec, limits: ShareLimits, now_ms: int
    ) -> None:
        self.acquired: list[Acquired] = []
        self._window = window
        self._spec = spec
        self._limits = limits
        self._locked_until_ms = now_ms + limits.record_lock_duration_ms
        self._wanted = spec.max_records
        self._count = 0

    def run(self, fetched: Sequence[FetchedBatch]) -> list[Acquired]:
        """Acquire as many of the fetched batches as possible."""
        window = self._window
        if self._wanted <= 0 or not fetched or fetched[-1].last < window.start_offset:
            return []
        last = self._bound(fetched[-1].last)
        if last is None:
            return []
        if self._spec.fetch_offset < fetched[0].first:  # the records in between are compacted away
            window.archive_free(self._spec.fetch_offset, fetched[0].first - 1)
            window.advance()
        first = max(fetched[0].first, window.start_offset)
        overlapping = window.overlapping(first, last)
        for batch in overlapping:
            if self._count >= self._wanted:
                break
            if batch.is_gap:
                window.cut_gap(batch, first, last)
                self._acquire_new(fetched, max(batch.first, first), min(batch.last, last), is_in_gap=True)
            elif not self._acquire_again(batch, first, last):
                self._wanted = 0
        behind = overlapping[-1].last + 1 if overlapping else self._first_new(first)
        if self._count < self._wanted and behind <= last:
            self._acquire_new(fetched, behind, last, is_in_gap=False)
        window.advance()
        return self.acquired

    def _bound(self, last: int) -> int | None:
        """Limit the number of wanted records; return the last offset that may be acquired, or None.

        At the limit of records in flight, released records may still be acquired.
        """
        window = self._window
        room = min(self._wanted, self._limits.max_record_locks - window.in_flight)
        if room > 0:
            self._wanted = room
            return last
        if self._spec.fetch_offset >= window.end_offset:
            return None
        self._wanted = min(self._wanted, window.end_offset - self._spec.fetch_offset)
        return min(last, window.end_offset - 1)

    def _first_new(self, first: int) -> int:
        """Return the offset at which new records begin, not below the window's end if no batches are in
        flight.
        """
        return first if self._window.batches else max(first, self._window.end_offset)

    # --- records that were in flight before

    def _acquire_again(self, batch: InFlightBatch, first: int, last: int) -> bool:
        """Acquire the available records of a batch; return False if the acquisition ends with it."""
        free = [span for span in batch.parts(first, last) if span.is_free]
        if not free:
            return True
        deliveries = max(span.delivery_count for span in free)
        is_throttled = deliveries >= self._limits.throttled_deliveries
        if is_throttled and self._count > 0:
            return False
        is_limited = self._spec.mode is AcquireMode.RECORD_LIMIT and batch.size > self._wanted - self._count
        if is_throttled or is_limited or len(batch.spans) > 1 or batch.first < first or batch.last > last:
            return not (self._acquire_parts(batch, free, first, last) and is_throttled)
        self._take(batch.spans[0])
        return True

    def _acquire_parts(self, batch: InFlightBatch, free: list[Span], first: int, last: int) -> int:
        """Acquire available parts of a batch until a limit is reached; return the number of records."""
        limits = self._limits
        limit = self._wanted - self._count if self._spec.mode is AcquireMode.RECORD_LIMIT else batch.size
        isolates = limits.delivery_count_limit > ISOLATING_LIMIT
        is_throttled = False
        count, before = 0, len(self.acquired)
        for span in free:
            is_last_delivery = isolates and span.delivery_count == limits.delivery_count_limit - 1
            if is_last_delivery and count:
                break
            excess = span.delivery_count - limits.throttled_deliveries
            if excess >= 0 and not is_throttled:
                is_throttled = True
                smaller = max(1, batch.size >> (excess + 1))
                if count < smaller:  # as in Kafka, a limit that is exceeded already has no effect
                    limit = min(limit, smaller)
            begin = max(span.first, first)
            size = min(span.last, last) - begin + 1
            size = 1 if is_last_delivery else min(size, limit - count)
            if size <= 0:
                break
            (taken,) = batch.carve(begin, begin + size - 1)
            self._take(taken, joins=len(self.acquired) > before)
            count += size
            if is_last_delivery:
                break
        batch.join()
        return count

    def _take(self, span: Span, *, joins: bool = False) -> None:
        """Acquire a span. With `joins` its range may be merged with the preceding one."""
        span.acquire(self._spec.member_id, self._locked_until_ms)
        self._count += span.size
        if joins:
            last = self.acquired[-1]
            if last.last_offset + 1 == span.first and last.delivery_count == span.delivery_count:
                self.acquired[-1] = last._replace(last_offset=span.last)
                return
        self.acquired.append(Acquired(span.first, span.last, span.delivery_count))

    # --- new records

    def _acquire_new(
        self, fetched: Sequence[FetchedBatch], first: int, last: int, *, is_in_gap: bool
    ) -> None:
        """Put new records in flight, up to the end of the record batch that contains the last
        wanted record.
        """
        room = self._wanted - self._count
        end = last
        if room < last - first + 1:
            end = _end_of_batch(fetched, first + room - 1)
            if is_in_gap:
                end = min(end, last)
        if self._spec.mode is AcquireMode.RECORD_LIMIT:
            self._put(first, end, min(end, first + room - 1))
        else:
            self._put_split(fetched, first, end)
        if is_in_gap and end < last:
            self._window.insert(gap(end + 1, last))

    def _put_split(self, fetched: Sequence[FetchedBatch], first: int, last: int) -> None:
        """Put records in flight in ranges of about the batch size, without splitting record batches."""
        if last - first + 1 > self._spec.batch_size:
            for batch in fetched:
                if batch.first > last:
                    break
                if batch.first - first >= self._spec.batch_size:
                    self._put(first, batch.first - 1, batch.first - 1)
                    first = batch.first
        self._put(first, last, last)

    def _put(self, first: int, last: int, last_taken: int) -> None:
        """Put a batch in flight, and acquire its records up to `last_taken`."""
        spans = [Span(first, last_taken, RecordState.AVAILABLE, 0)]
        if last_taken < last:
            spans.append(Span(last_taken + 1, last, RecordState.AVAILABLE, 0))
            self._window.freed()
        self._window.insert(InFlightBatch(spans))
        self._take(spans[0])


def gap(first: int, last: int) -> InFlightBatch:
    """Return a batch of offsets whose delivery state is unknown."""
    return InFlightBatch([Span(first, last, RecordState.AVAILABLE, 0)], is_gap=True)


def without(acquired: Sequence[Acquired], removed: Sequence[FetchedBatch]) -> list[Acquired]:
    """Return the acquired ranges without the offsets of `removed` record batches, which are in order."""
    rest: list[Acquired] = []
    for each in acquired:
        first = each.first_offset
        for batch in removed:
            if batch.last < first or batch.first > each.last_offset:
                continue
            if batch.first > first:
                rest.append(each._replace(first_offset=first, last_offset=batch.first - 1))
            first = batch.last + 1
        if first <= each.last_offset:
            rest.append(each._replace(first_offset=first))
    return rest


def _end_of_batch(fetched: Sequence[FetchedBatch], offset: int) -> int:
    """Return the last offset of the record batch that contains `offset`; `offset` itself if no batch does."""
    for batch in reversed(fetched):
        if batch.first <= offset:
            return max(batch.last, offset)
    return offset
