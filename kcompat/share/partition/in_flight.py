"""Ranges of records that were fetched and are not finished (Kafka's `InFlightBatch` and `InFlightState`).

Kafka keeps one state for a batch, or one for each offset once two records differ. Here a batch is a list of
spans of offsets in the same state, so that no work is done for each record.
"""

from __future__ import annotations

from bisect import bisect_right
from enum import IntEnum
from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.share.batches import StateBatch

NO_MEMBER = ""
"""Member id of records that no member has acquired."""

_first_offset = attrgetter("first")


class RecordState(IntEnum):
    """Delivery state of a record, with the numbers of the share coordinator's log."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVING = 3
    ARCHIVED = 4


TERMINAL = frozenset({RecordState.ACKNOWLEDGED, RecordState.ARCHIVED})
"""States of records that are finished."""


class SpanChange:
    """Change of spans that takes effect once it is stored, and is taken back if the write fails."""

    __slots__ = ("batches", "settled", "spans")

    def __init__(self) -> None:
        self.batches: list[StateBatch] = []
        """Batches to store, in the order of the change."""
        self.spans: list[Span] = []
        """Spans that wait for the change to be stored. A span that was cut is replaced by its parts."""
        self.settled = False
        """Whether the result of the write is known."""


class Span:
    """Adjacent records of one batch in the same state, from `first` to `last`, both included."""

    __slots__ = (
        "before",
        "change",
        "delivery_count",
        "first",
        "last",
        "locked_until_ms",
        "member_id",
        "state",
    )

    def __init__(self, first: int, last: int, state: RecordState, delivery_count: int) -> None:
        self.first = first
        self.last = last
        self.state = state
        self.delivery_count = delivery_count
        self.member_id = NO_MEMBER
        """The member that has acquired the records."""
        self.locked_until_ms = 0
        """End of the member's acquisition lock, in ms since the epoch."""
        self.change: SpanChange | None = None
        """Change to the present state that is not stored yet."""
        self.before: tuple[RecordState, str] = (state, NO_MEMBER)
        """State and member before the unstored change."""

    def __repr__(self) -> str:
        holder = f" by {self.member_id!r}" if self.member_id else ""
        return f"<{self.first}-{self.last} {self.state.name} x{self.delivery_count}{holder}>"

    @property
    def size(self) -> int:
        """Number of offsets in the span."""
        return self.last - self.first + 1

    @property
    def is_free(self) -> bool:
        """Whether the records can be acquired."""
        return self.state is RecordState.AVAILABLE and self.change is None

    @property
    def is_done(self) -> bool:
        """Whether the records are finished and the change to that state is stored."""
        return self.state in TERMINAL and self.change is None

    def acquire(self, member_id: str, locked_until_ms: int) -> None:
        """Acquire the records for a member."""
        assert self.is_free
        self.state = RecordState.ACQUIRED
        self.delivery_count += 1
        self.member_id = member_id
        self.locked_until_ms = locked_until_ms

    def free(self, delivery_limit: int) -> None:
        """Make the records available to other members, or archive them at the delivery limit."""
        self.state = RecordState.ARCHIVED if self.delivery_count >= delivery_limit else RecordState.AVAILABLE
        self.member_id = NO_MEMBER

    def archive(self) -> None:
        """Archive the records, even if another change to them is not stored yet."""
        self.state = RecordState.ARCHIVED
        self.member_id = NO_MEMBER
        self.change = None

    def begin(self, change: SpanChange, state: RecordState, delivery_limit: int) -> None:
        """Begin the change to `state`, which takes effect once it is stored."""
        assert self.state is RecordState.ACQUIRED
        self.before = (self.state, self.member_id)
        self.change = change
        if state is RecordState.AVAILABLE:
            self.free(delivery_limit)
        else:
            self.state = state
            self.member_id = NO_MEMBER
        change.spans.append(self)

    def take_back(self, delivery_limit: int, now_ms: int) -> None:
        """Undo a change that could not be stored. The member keeps the records if its lock has not ended."""
        self.change = None
        self.state, self.member_id = self.before
        if self.locked_until_ms <= now_ms:
            self.free(delivery_limit)

    def cut(self, offset: int) -> Span:
        """Shorten the span to the offsets below `offset`, and return the rest as another span."""
        assert self.first < offset <= self.last
        rest = Span(offset, self.last, self.state, self.delivery_count)
        rest.member_id, rest.locked_until_ms = self.member_id, self.locked_until_ms
        rest.change, rest.before = self.change, self.before
        if rest.change is not None:
            rest.change.spans.append(rest)
        self.last = offset - 1
        return rest

    def is_like(self, other: Span) -> bool:
        """Return whether both spans can be joined: they have the same state and no unstored change."""
        return (
            self.change is None
            and other.change is None
            and self.state is other.state
            and self.delivery_count == other.delivery_count
            and self.member_id == other.member_id
            and (self.state is not RecordState.ACQUIRED or self.locked_until_ms == other.locked_until_ms)
        )


class InFlightBatch:
    """Records that were first acquired or stored together, in spans without holes.

    A gap (`is_gap`) contains offsets between stored batches without a stored state. They may never have been
    delivered, and are acquired as new records.
    """

    __slots__ = ("is_gap", "spans")

    def __init__(self, spans: list[Span], *, is_gap: bool = False) -> None:
        self.spans = spans
        self.is_gap = is_gap

    @property
    def first(self) -> int:
        """First offset of the batch."""
        return self.spans[0].first

    @property
    def last(self) -> int:
        """Last offset of the batch."""
        return self.spans[-1].last

    @property
    def size(self) -> int:
        """Number of offsets in the batch."""
        return self.last - self.first + 1

    def parts(self, first: int, last: int) -> Iterator[Span]:
        """Yield the spans that overlap these offsets, without cutting them."""
        spans = self.spans
        index = max(bisect_right(spans, first, key=_first_offset) - 1, 0)
        for span in spans[index:]:
            if span.first > last:
                return
            if span.last >= first:
                yield span

    def carve(self, first: int, last: int) -> list[Span]:
        """Return spans of exactly these offsets, as far as the batch contains them. Spans are cut at both
        ends.
        """
        spans = self.spans
        begin = self._cut(max(first, self.first))
        end = self._cut(last + 1) if last < self.last else len(spans)
        return spans[begin:end]

    def _cut(self, offset: int) -> int:
        """Cut a span so that one begins at `offset`; return its index."""
        spans = self.spans
        index = bisect_right(spans, offset, key=_first_offset) - 1
        if spans[index].first == offset:
            return index
        spans.insert(index + 1, spans[index].cut(offset))
        return index + 1

    def join(self) -> None:
        """Join adjacent spans in the same state."""
        joined = self.spans[:1]
        for span in self.spans[1:]:
            if joined[-1].is_like(span):
                joined[-1].last = span.last
            else:
                joined.append(span)
        self.spans = joined
