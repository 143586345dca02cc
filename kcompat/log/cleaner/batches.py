"""What remains of one batch when its log is cleaned (Kafka's Cleaner.cleanInto and MemoryRecords.filterTo).

Pure: bytes in, bytes out. A kept batch keeps base offset, last offset, sequences, producer and leader epoch.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

import msgspec

from kcompat.log.cleaner.spans import END, HAS_VALUE, START, TIMESTAMP_DELTA, behind_timestamp, split
from kcompat.records.batch import (
    CODEC_MASK,
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    HEADER_SIZE,
    LOG_APPEND_TIME_FLAG,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    seal,
)
from kcompat.records.compression import Codec, compress, decompress
from kcompat.records.record import append_varint

if TYPE_CHECKING:
    from kcompat.log.cleaner.job import Rules
    from kcompat.log.cleaner.offset_map import OffsetMap
    from kcompat.log.cleaner.spans import Span
    from kcompat.log.cleaner.transactions import TransactionWalk
    from kcompat.records.batch import BatchHeader

_TIMES: Final = struct.Struct(">qq")
_TIMES_AT: Final = 27
_COUNT: Final = struct.Struct(">i")
_COUNT_AT: Final = 57

Buffer = bytes | bytearray | memoryview


class Kept(msgspec.Struct, frozen=True):
    """A batch to write, and what the indexes are told of it; an emptied batch has no timestamp for them."""

    data: Buffer
    last_offset: int
    timestamp: int
    records: int


class BatchCleaner:
    """Judges the batches of a log one after another, in offset order."""

    __slots__ = ("_newest", "_rules", "_transactions")

    def __init__(self, rules: Rules, newest: OffsetMap, transactions: TransactionWalk) -> None:
        self._rules = rules
        self._newest = newest
        self._transactions = transactions

    def clean(self, batch: memoryview, header: BatchHeader) -> Kept | None:
        """What remains of the batch, None for nothing. Raises RecordsDamaged."""
        is_discardable = self._transactions.is_discardable(batch, header)
        if header.is_control:
            return self._clean_marker(batch, header, is_discardable)
        if is_discardable or header.record_count == 0:
            return self._empty(batch, header)
        body = self._unpack(batch, header)
        spans = split(body, header.record_count)
        kept = self._filter(header, spans)
        if not kept:
            return self._empty(batch, header)
        has_tombstones = not all(span[HAS_VALUE] for span in kept)
        if has_tombstones and not header.has_delete_horizon:
            return self._rewrite(batch, header, body, kept, horizon_ms=self._horizon_ms)
        if len(kept) < len(spans):
            return self._rewrite(batch, header, body, kept)
        return Kept(batch, header.last_offset, header.max_timestamp, header.record_count)

    def _filter(self, header: BatchHeader, spans: list[Span]) -> list[Span]:
        """The newest record of each key and what is newer than the map; tombstones until their horizon."""
        keeps_tombstones = not header.has_delete_horizon or self._rules.now_ms < header.base_timestamp
        base, latest, find = header.base_offset, self._newest.latest, self._newest.get
        kept = []
        for span in spans:
            _, _, _, offset_delta, key, has_value = span
            offset = base + offset_delta
            if offset > latest or (
                key is not None and (has_value or keeps_tombstones) and offset >= find(key)
            ):
                kept.append(span)
        return kept

    def _clean_marker(self, batch: memoryview, header: BatchHeader, is_discardable: bool) -> Kept | None:
        """A marker without data stays until its own horizon, so that slow readers see it (KIP-534)."""
        is_past = header.has_delete_horizon and header.base_timestamp <= self._rules.now_ms
        if header.record_count == 0 or (is_discardable and is_past):
            return self._empty(batch, header)
        if is_discardable and not header.has_delete_horizon:
            body = self._unpack(batch, header)
            spans = split(body, header.record_count)
            return self._rewrite(batch, header, body, spans, horizon_ms=self._horizon_ms)
        return Kept(batch, header.last_offset, header.max_timestamp, header.record_count)

    def _unpack(self, batch: memoryview, header: BatchHeader) -> bytes:
        packed = batch[HEADER_SIZE : header.size]
        return b"".join(decompress(header.codec, packed, self._rules.max_message_bytes))

    @property
    def _horizon_ms(self) -> int:
        return self._rules.now_ms + self._rules.delete_retention_ms

    # -- batches without records -----------------------------------------------------------------------------

    def _empty(self, batch: memoryview, header: BatchHeader) -> Kept | None:
        """Only the header, where it is needed: a producer's last sequence, or the end of what was cleaned."""
        if not (self._ends_a_producer(header) or header.next_offset == self._rules.upper_offset):
            return None
        data = bytearray(batch[:HEADER_SIZE])
        _TIMES.pack_into(data, _TIMES_AT, NO_TIMESTAMP, header.max_timestamp)
        _COUNT.pack_into(data, _COUNT_AT, 0)
        kept_flags = LOG_APPEND_TIME_FLAG | TRANSACTIONAL_FLAG | CONTROL_FLAG
        seal(data, header.attributes & kept_flags)
        return Kept(data, header.last_offset, NO_TIMESTAMP, 0)

    def _ends_a_producer(self, header: BatchHeader) -> bool:
        """Whether the batch holds a producer's last data or, where it has none, the marker with its epoch."""
        last = self._rules.producers.get(header.producer_id)
        if last is None:
            return False
        last_offset, epoch = last
        if last_offset >= 0:
            return header.last_offset == last_offset
        return header.is_control and header.producer_epoch == epoch

    # -- batches with fewer records --------------------------------------------------------------------------

    def _rewrite(
        self,
        batch: memoryview,
        header: BatchHeader,
        body: bytes,
        kept: list[Span],
        horizon_ms: int | None = None,
    ) -> Kept:
        """The batch with these records alone, under its own codec. `horizon_ms`, if new, goes where the base
        timestamp was.
        """
        flags = header.attributes
        base_timestamp = header.base_timestamp
        max_timestamp = header.max_timestamp
        if not header.uses_log_append_time:
            max_timestamp = base_timestamp + max(span[TIMESTAMP_DELTA] for span in kept)
        if horizon_ms is None:
            records = _join(body, kept)
        else:
            records = _rebase(body, kept, base_timestamp - horizon_ms)
            base_timestamp, flags = horizon_ms, flags | DELETE_HORIZON_FLAG
        data = bytearray(batch[:HEADER_SIZE])
        data += compress(Codec(flags & CODEC_MASK), records)
        _TIMES.pack_into(data, _TIMES_AT, base_timestamp, max_timestamp)
        _COUNT.pack_into(data, _COUNT_AT, len(kept))
        seal(data, flags)
        return Kept(data, header.last_offset, max_timestamp, len(kept))


def _join(body: bytes, kept: list[Span]) -> bytearray:
    """The records as they are; neighbours are copied together."""
    out = bytearray()
    start = end = kept[0][START]
    for span in kept:
        if span[START] != end:
            out += body[start:end]
            start = span[START]
        end = span[END]
    out += body[start:end]
    return out


def _rebase(body: bytes, kept: list[Span], shift: int) -> bytearray:
    """The records with `shift` added to every timestamp delta."""
    out = bytearray()
    for span in kept:
        rest = body[behind_timestamp(body, span) : span[END]]
        delta = bytearray()
        append_varint(delta, span[TIMESTAMP_DELTA] + shift)
        append_varint(out, 1 + len(delta) + len(rest))
        out += b"\0"
        out += delta
        out += rest
    return out
