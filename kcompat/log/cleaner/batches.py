"""Cleaning one batch: choosing the records to keep (Kafka's Cleaner.cleanInto and MemoryRecords.filterTo).

Pure: bytes in, bytes out. A kept batch keeps its base offset, last offset, sequences, producer and leader
epoch.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

import msgspec

from kcompat.log.cleaner import sieve
from kcompat.log.cleaner.offset_map import damage
from kcompat.records.batch import seal
from kcompat.records.checksum import crc32c
from kcompat.records.compression import Codec, compress, decompress
from kcompat.records.layout import (
    CODEC_MASK,
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    HEADER_PLACES,
    HEADER_SIZE,
    LOG_APPEND_TIME_FLAG,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
)

if TYPE_CHECKING:
    from kcompat.log.cleaner.job import Rules
    from kcompat.log.cleaner.offset_map import OffsetMap
    from kcompat.log.cleaner.transactions import TransactionWalk
    from kcompat.records.batch import BatchHeader

_TIMES: Final = struct.Struct(">qq")
_TIMES_AT: Final = HEADER_PLACES["base_timestamp"].at
_COUNT: Final = struct.Struct(">i")
_COUNT_AT: Final = HEADER_PLACES["record_count"].at

Buffer = bytes | bytearray | memoryview


class Kept(msgspec.Struct, frozen=True):
    """A batch to write, with the last offset and largest timestamp for the indexes; a batch without records
    has no timestamp to index.
    """

    data: Buffer
    last_offset: int
    timestamp: int
    records: int


class BatchCleaner:
    """Filter for the batches of a log, which are given one after another in offset order."""

    __slots__ = ("_newest", "_rules", "_transactions")

    def __init__(self, rules: Rules, newest: OffsetMap, transactions: TransactionWalk) -> None:
        self._rules = rules
        self._newest = newest
        self._transactions = transactions

    def clean_plain(
        self, chunk: memoryview, position: int
    ) -> tuple[int, int, int, Buffer, list[tuple[int, int, int]]]:
        """Clean the plain batches of a chunk from `position` on; returns the result of `sieve.keep_plain`."""
        newest, rules = self._newest, self._rules
        return sieve.keep_plain(
            newest.table, crc32c, chunk, position, newest.latest, rules.now_ms, rules.upper_offset
        )

    def clean(self, batch: memoryview, header: BatchHeader) -> Kept | None:
        """Return the part of a batch to keep, or None if the batch is dropped. Raises RecordsDamaged."""
        is_discardable = self._transactions.is_discardable(batch, header)
        if header.is_control:
            return self._clean_marker(batch, header, is_discardable)
        if is_discardable or header.record_count == 0:
            return self._empty(batch, header)
        body = unpack(batch, header, self._rules.max_message_bytes)
        keeps_tombstones = not header.has_delete_horizon or self._rules.now_ms < header.base_timestamp
        found = sieve.keep(
            self._newest.table,
            body,
            header.record_count,
            header.base_offset,
            header.base_timestamp,
            self._newest.latest,
            keeps_tombstones,
        )
        if found is None:
            raise damage(header.base_offset, header.record_count)
        kept, newest_ms, tombstones, records = found
        if not kept:
            return self._empty(batch, header)
        if tombstones and not header.has_delete_horizon:
            return self._with_horizon(batch, header, records, kept, newest_ms)
        if kept < header.record_count:
            return _rewrite(batch, header, records, kept, newest_ms)
        return Kept(batch, header.last_offset, header.max_timestamp, header.record_count)

    def _clean_marker(self, batch: memoryview, header: BatchHeader, is_discardable: bool) -> Kept | None:
        """Return the part of a control batch to keep.

        A marker whose transaction has no data left is kept until its own delete horizon, so that slow readers
        see it (KIP-534).
        """
        is_past = header.has_delete_horizon and header.base_timestamp <= self._rules.now_ms
        if header.record_count == 0 or (is_discardable and is_past):
            return self._empty(batch, header)
        if is_discardable and not header.has_delete_horizon:
            body = unpack(batch, header, self._rules.max_message_bytes)
            return self._with_horizon(batch, header, body, header.record_count, header.max_timestamp)
        return Kept(batch, header.last_offset, header.max_timestamp, header.record_count)

    def _with_horizon(
        self, batch: memoryview, header: BatchHeader, records: Buffer, count: int, newest_ms: int
    ) -> Kept:
        """Return the batch with these records and a delete horizon, the time from which tombstones or the
        marker may be removed.
        """
        horizon_ms = self._rules.now_ms + self._rules.delete_retention_ms
        rebased = sieve.rebase(records, count, _as_long(header.base_timestamp - horizon_ms))
        if rebased is None:
            raise damage(header.base_offset, header.record_count)
        return _rewrite(batch, header, rebased, count, newest_ms, horizon_ms)

    # -- batches without records -----------------------------------------------------------------------------

    def _empty(self, batch: memoryview, header: BatchHeader) -> Kept | None:
        """Return only the header of a batch, or None where not even the header is needed.

        The header is kept if it has a producer's last sequence or ends the cleaned range.
        """
        if not (self._ends_a_producer(header) or header.next_offset == self._rules.upper_offset):
            return None
        data = bytearray(batch[:HEADER_SIZE])
        _TIMES.pack_into(data, _TIMES_AT, NO_TIMESTAMP, header.max_timestamp)
        _COUNT.pack_into(data, _COUNT_AT, 0)
        kept_flags = LOG_APPEND_TIME_FLAG | TRANSACTIONAL_FLAG | CONTROL_FLAG
        seal(data, header.attributes & kept_flags)
        return Kept(data, header.last_offset, NO_TIMESTAMP, 0)

    def _ends_a_producer(self, header: BatchHeader) -> bool:
        """Return whether a batch holds a producer's last data or, for a producer without data, the marker
        with its epoch.
        """
        last = self._rules.producers.get(header.producer_id)
        if last is None:
            return False
        last_offset, epoch = last
        if last_offset >= 0:
            return header.last_offset == last_offset
        return header.is_control and header.producer_epoch == epoch


def unpack(batch: memoryview, header: BatchHeader, max_message_bytes: int) -> Buffer:
    """Return the uncompressed records of a batch. Raises RecordsDamaged."""
    packed = batch[HEADER_SIZE : header.size]
    if header.codec == Codec.NONE:
        return packed
    return b"".join(decompress(header.codec, packed, max_message_bytes))


def _rewrite(
    batch: memoryview,
    header: BatchHeader,
    records: Buffer,
    count: int,
    newest_ms: int,
    horizon_ms: int | None = None,
) -> Kept:
    """Return the batch with these records alone, under its own codec.

    A new `horizon_ms` is stored in the place of the base timestamp.
    """
    flags, base_timestamp = header.attributes, header.base_timestamp
    max_timestamp = header.max_timestamp if header.uses_log_append_time else newest_ms
    if horizon_ms is not None:
        base_timestamp, flags = horizon_ms, flags | DELETE_HORIZON_FLAG
    data = bytearray(batch[:HEADER_SIZE])
    codec = Codec(flags & CODEC_MASK)
    data += records if codec == Codec.NONE else compress(codec, records)
    _TIMES.pack_into(data, _TIMES_AT, base_timestamp, max_timestamp)
    _COUNT.pack_into(data, _COUNT_AT, count)
    seal(data, flags)
    return Kept(data, header.last_offset, max_timestamp, count)


def _as_long(value: int) -> int:
    """Wrap a number around at 64 bits, like a Java `long`."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
