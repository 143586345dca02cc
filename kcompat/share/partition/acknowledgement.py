"""Acknowledgements of members: accept, release, reject, renew (KIP-932, KIP-1222). Pure.

An acknowledgement takes effect once it is stored: `acknowledge` and `release` make a `SpanChange`, which
`settle` completes when the outcome of the write is known. Kafka's counterparts: `SharePartition.acknowledge`
and `releaseAcquiredRecords`.
"""

from __future__ import annotations

from enum import IntEnum
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from kcompat.protocol.errors import ErrorCode
from kcompat.share.batches import StateBatch
from kcompat.share.partition.in_flight import RecordState, SpanChange
from kcompat.share.persister import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kcompat.share.partition.in_flight import Span
    from kcompat.share.partition.limits import ShareLimits
    from kcompat.share.partition.window import DeliveryWindow


class AcknowledgeType(IntEnum):
    """Kinds of acknowledgement of a record."""

    GAP = 0
    """Type for an offset that has no record."""
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


_STATES: Final = {
    AcknowledgeType.GAP: RecordState.ARCHIVED,
    AcknowledgeType.ACCEPT: RecordState.ACKNOWLEDGED,
    AcknowledgeType.RELEASE: RecordState.AVAILABLE,
    AcknowledgeType.REJECT: RecordState.ARCHIVED,
}
_KNOWN_TYPES: Final = frozenset(AcknowledgeType)

NOT_IN_FLIGHT: Final = Outcome(
    ErrorCode.INVALID_RECORD_STATE, "The acknowledged records are not in flight any more."
)
PAST_IN_FLIGHT: Final = Outcome(ErrorCode.INVALID_REQUEST, "The acknowledged records were never acquired.")
NOT_ACQUIRED: Final = Outcome(ErrorCode.INVALID_RECORD_STATE, "The acknowledged records are not acquired.")
UNDER_WAY: Final = Outcome(
    ErrorCode.INVALID_RECORD_STATE, "An earlier acknowledgement of the records is still being stored."
)
OF_ANOTHER: Final = Outcome(ErrorCode.INVALID_RECORD_STATE, "Another member has acquired the records.")
NO_RENEWALS: Final = Outcome(
    ErrorCode.INVALID_RECORD_STATE, "Renewing acquisition locks is not enabled for the group."
)


class Acknowledgement(NamedTuple):
    """Acknowledgement of a range of records, with one type for all records or one for each."""

    first_offset: int
    last_offset: int
    types: Sequence[int]

    def runs(self) -> Iterator[tuple[int, int, AcknowledgeType]]:
        """Yield first offset, last offset and type of each run of adjacent records with the same type."""
        if len(self.types) == 1:
            yield self.first_offset, self.last_offset, AcknowledgeType(self.types[0])
            return
        first = self.first_offset
        for kind, each in groupby(self.types):
            behind = first + sum(1 for _ in each)
            yield first, behind - 1, AcknowledgeType(kind)
            first = behind


class Acknowledging:
    """Acknowledgements of one member at `now_ms`, applied range by range."""

    def __init__(self, window: DeliveryWindow, member_id: str, limits: ShareLimits, now_ms: int) -> None:
        self._window = window
        self._member_id = member_id
        self._limits = limits
        self._now_ms = now_ms
        self._change = SpanChange()

    def run(self, said: Iterable[Acknowledgement]) -> SpanChange | Outcome:
        """Return the begun change, or the reason why it is refused. After a refusal only renewals have taken
        effect.
        """
        for each in said:
            refusal = self._begin(each)
            if refusal is not None:
                settle(self._window, self._change, self._limits, self._now_ms, is_stored=False)
                return refusal
        return self._change

    def _begin(self, said: Acknowledgement) -> Outcome | None:
        """Begin the change of one range; return the error that refuses it, or None."""
        start = self._window.start_offset
        if not _KNOWN_TYPES.issuperset(said.types):
            return Outcome(ErrorCode.INVALID_REQUEST, f"Invalid acknowledge type: {list(said.types)}")
        if said.last_offset < start:
            return None  # the records below the start are finished already
        batches = self._window.overlapping(max(said.first_offset, start), said.last_offset)
        if not batches or batches[-1].last < said.last_offset:
            return PAST_IN_FLIGHT if self._window.batches else NOT_IN_FLIGHT
        for first, last, kind in said.runs():
            if last >= start:
                refusal = self._begin_run(max(first, start), last, kind)
                if refusal is not None:
                    return refusal
        return None

    def _begin_run(self, first: int, last: int, kind: AcknowledgeType) -> Outcome | None:
        """Begin the change of adjacent records with the same acknowledgement type; return the error that
        refuses it, or None.
        """
        limits = self._limits
        for batch in self._window.overlapping(first, last):
            refusal = self._refusal(batch.parts(first, last))
            if refusal is not None:
                return refusal
            if kind is not AcknowledgeType.RENEW:
                for span in batch.carve(first, last):
                    _change(self._change, span, _STATES[kind], limits)
            elif limits.renew_acknowledge:
                for span in batch.carve(first, last):
                    span.locked_until_ms = self._now_ms + limits.record_lock_duration_ms
                batch.join()
            else:
                return NO_RENEWALS
        return None

    def _refusal(self, spans: Iterable[Span]) -> Outcome | None:
        """Return the error if the member may not acknowledge these records, or None."""
        for span in spans:
            if span.change is not None:
                return UNDER_WAY
            if span.state is not RecordState.ACQUIRED:
                return NOT_ACQUIRED
            if span.member_id != self._member_id:
                return OF_ANOTHER
        return None


def release(window: DeliveryWindow, member_id: str, limits: ShareLimits) -> SpanChange:
    """Begin to release all records of a departed member; return the change."""
    change = SpanChange()
    for batch in window.batches:
        for span in batch.spans:
            if span.state is RecordState.ACQUIRED and span.member_id == member_id:
                _change(change, span, RecordState.AVAILABLE, limits)
    return change


def expire(window: DeliveryWindow, limits: ShareLimits, now_ms: int) -> tuple[list[StateBatch], int | None]:
    """Release the records whose acquisition locks have ended.

    Returns the batches to store, which are in force even if the write fails, and the time in ms at which the
    next lock ends (None without locks).
    """
    stored: list[StateBatch] = []
    next_end: int | None = None
    for batch in window.batches:
        before = len(stored)
        for span in batch.spans:
            if span.state is not RecordState.ACQUIRED:
                continue
            if span.locked_until_ms <= now_ms:
                span.free(limits.delivery_count_limit)
                stored.append(_stored(span))
            elif next_end is None or span.locked_until_ms < next_end:
                next_end = span.locked_until_ms
        if len(stored) > before:
            batch.join()
    if stored:
        window.freed()
        window.advance()
    return stored, next_end


def settle(
    window: DeliveryWindow, change: SpanChange, limits: ShareLimits, now_ms: int, *, is_stored: bool
) -> None:
    """Complete a change after its write: keep it if it was stored, else take it back."""
    change.settled = True
    for span in change.spans:
        if span.change is not change:
            continue  # archived in the meantime
        if is_stored:
            span.change = None
        else:
            span.take_back(limits.delivery_count_limit, now_ms)
    if change.spans:
        for batch in window.overlapping(
            min(span.first for span in change.spans), max(span.last for span in change.spans)
        ):
            batch.join()
        window.freed()
        window.advance()


def _change(change: SpanChange, span: Span, state: RecordState, limits: ShareLimits) -> None:
    span.begin(change, state, limits.delivery_count_limit)
    stored = _stored(span)
    if change.batches:
        last = change.batches[-1]
        if last.last_offset + 1 == stored.first_offset and last[2:] == stored[2:]:
            change.batches[-1] = last._replace(last_offset=stored.last_offset)
            return
    change.batches.append(stored)


def _stored(span: Span) -> StateBatch:
    return StateBatch(span.first, span.last, int(span.state), span.delivery_count)
