"""The records in flight of a share partition, from its start offset to its end offset. Pure.

Records below the start are finished; records from the end on have not been fetched. Kafka's counterpart: the
cached state of `SharePartition`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING

from kcompat.share.partition.in_flight import TERMINAL, InFlightBatch, RecordState, Span

if TYPE_CHECKING:
    from collections.abc import Iterator

_first_offset = attrgetter("first")
_last_offset = attrgetter("last")


class DeliveryWindow:
    """Batches in flight, in order. Offsets between batches have no records."""

    __slots__ = ("_may_be_free", "batches", "end_offset", "start_offset")

    def __init__(self, start_offset: int, batches: list[InFlightBatch]) -> None:
        self.start_offset = start_offset
        self.batches = batches
        self.end_offset = batches[-1].last + 1 if batches else start_offset
        """Offset after the last offset in flight."""
        self._may_be_free = True
        self.advance()

    @property
    def in_flight(self) -> int:
        """Number of offsets in flight, including those of records that the log no longer has."""
        return self.end_offset - self.start_offset

    @property
    def delivery_complete_count(self) -> int:
        """Number of offsets in flight that are finished, or will be once their changes are stored."""
        start = self.start_offset
        return sum(
            span.last - max(span.first, start) + 1
            for span in self.spans()
            if span.state in TERMINAL and span.last >= start
        )

    def spans(self) -> Iterator[Span]:
        """Return all spans, in order."""
        for batch in self.batches:
            yield from batch.spans

    def overlapping(self, first: int, last: int) -> list[InFlightBatch]:
        """Return the batches that contain any of these offsets."""
        batches = self.batches
        begin = bisect_left(batches, first, key=_last_offset)
        return batches[begin : bisect_right(batches, last, key=_first_offset)]

    def freed(self) -> None:
        """Make `next_fetch_offset` search from the start again, as records may have been released."""
        self._may_be_free = True

    def next_fetch_offset(self) -> int:
        """Return the offset of the first record that can be acquired, or the end offset."""
        if self._may_be_free:
            for span in self.spans():
                if span.is_free and span.last >= self.start_offset:
                    return max(span.first, self.start_offset)
            self._may_be_free = False
        return self.end_offset

    def insert(self, batch: InFlightBatch) -> None:
        """Insert a batch at its offsets, none of which is in flight yet."""
        batches = self.batches
        if not batches or batches[-1].last < batch.first:
            batches.append(batch)
        else:
            batches.insert(bisect_left(batches, batch.first, key=_first_offset), batch)
        self.end_offset = max(self.end_offset, batch.last + 1)

    def cut_gap(self, gap: InFlightBatch, first: int, last: int) -> None:
        """Remove these offsets from a gap, to make room for a batch."""
        assert gap.is_gap
        place = self.batches.index(gap)
        gap.carve(first, last)
        below = [span for span in gap.spans if span.last < first]
        above = [span for span in gap.spans if span.first > last]
        rest = [InFlightBatch(spans, is_gap=True) for spans in (below, above) if spans]
        self.batches[place : place + 1] = rest

    def archive_free(self, first: int, last: int) -> None:
        """Archive the available records among these offsets."""
        self._archive(first, last, RecordState.AVAILABLE)

    def archive_acquired(self, first: int, last: int) -> None:
        """Archive the acquired records among these offsets."""
        self._archive(first, last, RecordState.ACQUIRED)

    def _archive(self, first: int, last: int, state: RecordState) -> None:
        for batch in self.overlapping(first, last):
            if any(span.state is state for span in batch.parts(first, last)):
                for span in batch.carve(first, last):
                    if span.state is state:
                        span.archive()
                batch.join()

    def start_at(self, offset: int) -> None:
        """Finish the records below `offset`, the new start of the log."""
        assert offset > self.start_offset
        batches = self.batches
        del batches[: bisect_left(batches, offset, key=_last_offset)]
        if batches and batches[0].first < offset:
            for span in batches[0].carve(batches[0].first, offset - 1):
                span.archive()
            batches[0].join()
        self.start_offset = offset
        self.end_offset = max(self.end_offset, offset)
        self.advance()

    def advance(self) -> bool:
        """Move the start to the first record that is not finished; return whether it moved."""
        before = self.start_offset
        done, self.start_offset = 0, self.end_offset
        for batch in self.batches:
            undone = next((span for span in batch.spans if not span.is_done and span.last >= before), None)
            if undone is not None:
                self.start_offset = max(undone.first, before)
                break
            done += 1
        del self.batches[:done]
        return self.start_offset != before

    def check_invariants(self) -> None:
        """Assert that batches and spans are in order without holes inside a batch, and fit the offsets of the
        window.
        """
        behind = None
        for batch in self.batches:
            assert batch.spans
            assert behind is None or behind <= batch.first
            behind = batch.first
            for span in batch.spans:
                assert span.first == behind <= span.last
                behind = span.last + 1
                assert (span.state is RecordState.ACQUIRED) == bool(span.member_id)
                assert span.change is None or (not span.change.settled and span in span.change.spans)
                assert span.last >= self.start_offset or span.is_done
        assert behind in (None, self.end_offset)
        assert self.start_offset <= self.end_offset
        assert bool(self.batches) == (self.start_offset < self.end_offset)
