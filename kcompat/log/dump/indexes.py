"""The indexes of a segment: their entries, and whether these say the truth about the segment file beside
them.

Entries and batches are walked side by side, so that neither a large index nor a large log is ever in memory.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kcompat.log.dump.batches import FoundBatch, read_batches
from kcompat.log.dump.rows import Row, damage
from kcompat.log.files import pread_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kcompat.log.files import OpenFile

    Entry = tuple[int, tuple[int, ...]]
    """The byte at which an index entry stands, and its numbers."""

_OFFSET = struct.Struct(">ii")
_TIME = struct.Struct(">qi")
_TRANSACTION = struct.Struct(">hqqqq")
_ENTRIES_A_READ = 4096
_TAIL_READ = 64 * 1024


def dump_offset_index(file: OpenFile, end: int, base_offset: int, log: Batches | None) -> Iterator[Row]:
    """The rows of an `.index`; checked against the log where that is given."""
    last = (-1, -1)
    for at, (relative, position) in _entries(file, end, _OFFSET):
        offset = base_offset + relative
        yield Row("index", at, {"offset": offset, "position": position})
        if relative <= last[0] or position <= last[1]:
            yield damage(at, "the entry does not lie above the one before it")
            continue
        last = relative, position
        if log is not None:
            message = _misplaced(log, offset, position)
            if message is not None:
                yield damage(at, message)
    yield from _remainder(end, _OFFSET)


def _misplaced(log: Batches, offset: int, position: int) -> str | None:
    """Why a search for `offset` must not begin at `position`; None if it may."""
    log.skip(lambda batch: batch.position < position)
    batch = log.current
    if batch is None or batch.position != position:
        return f"no batch begins at position {position} of the log"
    if offset < batch.last_offset or log.passed_offset >= offset:
        return f"the batch at position {position} of the log ends at offset {batch.last_offset}, not {offset}"
    return None


def dump_time_index(file: OpenFile, end: int, base_offset: int, log: Batches | None) -> Iterator[Row]:
    """The rows of a `.timeindex`; checked against the log where that is given."""
    last = (-1, -1)
    for at, (timestamp, relative) in _entries(file, end, _TIME):
        offset = base_offset + relative
        yield Row("index", at, {"timestamp": timestamp, "offset": offset})
        if timestamp <= last[0] or relative < last[1] or relative < 0:
            yield damage(at, "the entry does not lie above the one before it")
            continue
        last = timestamp, relative
        if log is not None:
            message = _untimely(log, timestamp, offset)
            if message is not None:
                yield damage(at, message)
    yield from _remainder(end, _TIME)


def _untimely(log: Batches, timestamp: int, offset: int) -> str | None:
    """Why `timestamp` is not the largest up to `offset`; None if it is."""
    log.skip(lambda batch: batch.last_offset < offset)
    batch = log.current
    if batch is None:
        return f"the log ends before offset {offset}"
    largest = max(log.passed_timestamp, _newest(batch))
    if timestamp not in (largest, max(log.passed_header_timestamp, batch.max_timestamp)):
        return f"the largest timestamp up to offset {offset} is {largest}, not {timestamp}"
    return None


def _newest(batch: FoundBatch) -> int:
    """The largest timestamp of the batch's records, -1 where compaction left none.

    Kafka indexes the timestamp that such a batch still has in its header; we do not.
    """
    return -1 if batch.header is not None and not batch.header.record_count else batch.max_timestamp


def dump_txn_index(file: OpenFile, end: int, log: Batches | None) -> Iterator[Row]:
    """The rows of a `.txnindex`; checked against the log where that is given."""
    last = -1
    for at, numbers in _entries(file, end, _TRANSACTION):
        version, producer_id, first_offset, last_offset, stable_offset = numbers
        fields = {
            "version": version,
            "producerId": producer_id,
            "firstOffset": first_offset,
            "lastOffset": last_offset,
            "lastStableOffset": stable_offset,
        }
        yield Row("abort", at, fields)
        if version != 0:
            yield damage(at, f"version {version} is not known")
        elif last_offset <= last or first_offset > last_offset:
            yield damage(at, "the entry does not lie above the one before it, or ends before it begins")
        else:
            last = last_offset
            if log is not None and not _ends_transaction(log, producer_id, last_offset):
                yield damage(at, f"no control batch of producer {producer_id} at offset {last_offset}")
    yield from _remainder(end, _TRANSACTION)


def _ends_transaction(log: Batches, producer_id: int, offset: int) -> bool:
    log.skip(lambda batch: batch.last_offset < offset)
    header = None if log.current is None else log.current.header
    return header is not None and header.is_control and header.producer_id == producer_id


class Batches:
    """The batches of the log beside an index, passed over from the first to the last."""

    def __init__(self, file: OpenFile, end: int) -> None:
        self._rest = read_batches(file, end)
        self.passed_offset = -1
        """Last offset of the batches before the current one; -1 when there is none."""
        self.passed_timestamp = -1
        """Largest timestamp of the records before the current batch."""
        self.passed_header_timestamp = -1
        """The same by the headers, those of empty batches too."""
        self.current: FoundBatch | None = None
        self._advance()

    def skip(self, wanted: Callable[[FoundBatch], bool]) -> None:
        """Pass over batches as long as `wanted` holds for the current one."""
        while self.current is not None and wanted(self.current):
            self.passed_offset = self.current.last_offset
            self.passed_timestamp = max(self.passed_timestamp, _newest(self.current))
            self.passed_header_timestamp = max(self.passed_header_timestamp, self.current.max_timestamp)
            self._advance()

    def _advance(self) -> None:
        found = next(self._rest, None)
        self.current = found if isinstance(found, FoundBatch) else None


def _entries(file: OpenFile, end: int, entry: struct.Struct) -> Iterator[Entry]:
    """The entries up to the zeros that Kafka preallocates. An entry of zeros counts if another follows it, or
    if the file holds nothing else.
    """
    size = entry.size
    filled = _filled(file, end - end % size, size)
    step = size * _ENTRIES_A_READ
    for start in range(0, filled, step):
        data = pread_all(file, min(step, filled - start), start)
        for number, fields in enumerate(entry.iter_unpack(data[: len(data) - len(data) % size])):
            yield start + number * size, fields


def _filled(file: OpenFile, end: int, size: int) -> int:
    """The first `end` bytes of a file of entries without the entries of zeros at their end."""
    stop = end
    while stop > 0:
        start = max(stop - _TAIL_READ, 0)
        data = pread_all(file, stop - start, start).rstrip(b"\0")
        if data:
            return -(-(start + len(data)) // size) * size
        stop = start
    return end if end == size else 0


def _remainder(end: int, entry: struct.Struct) -> Iterator[Row]:
    rest = end % entry.size
    if rest:
        yield damage(end - rest, f"the last {rest} bytes are no whole entry")
