"""The indexes of a segment: their entries, and whether these agree with the segment file beside them.

Entries and batches are read side by side, so that neither a large index nor a large log is ever in memory.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from kcompat.log.dump.batches import DumpedBatch, read_batches
from kcompat.log.dump.rows import Row, damage
from kcompat.log.files import pread_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kcompat.log.files import OpenFile

    Numbers = tuple[int, ...]
    """Fields of an index entry: offsets, positions, timestamps and ids, by the kind of index."""

_OFFSET = struct.Struct(">ii")
_TIME = struct.Struct(">qi")
_TRANSACTION = struct.Struct(">hqqqq")
NOT_ABOVE = "the entry does not lie above the one before it"
_BELOW_ALL = (-1,) * 5
_ENTRIES_A_READ = 4096
_TAIL_READ = 64 * 1024


def dump_offset_index(file: OpenFile, end: int, base_offset: int, log: Batches | None) -> Iterator[Row]:
    """Yield the rows of an `.index`; its entries are checked against the log if one is given."""

    def fields(numbers: Numbers) -> dict[str, int]:
        return {"offset": base_offset + numbers[0], "position": numbers[1]}

    def disorder(last: Numbers, numbers: Numbers) -> str | None:
        return None if numbers[0] > last[0] and numbers[1] > last[1] else NOT_ABOVE

    def misfit(log: Batches, numbers: Numbers) -> str | None:
        return _misplaced(log, base_offset + numbers[0], numbers[1])

    return _dump(file, end, _Index("index", _OFFSET, fields, disorder, misfit), log)


def dump_time_index(file: OpenFile, end: int, base_offset: int, log: Batches | None) -> Iterator[Row]:
    """Yield the rows of a `.timeindex`; its entries are checked against the log if one is given."""

    def fields(numbers: Numbers) -> dict[str, int]:
        return {"timestamp": numbers[0], "offset": base_offset + numbers[1]}

    def disorder(last: Numbers, numbers: Numbers) -> str | None:
        return None if numbers[0] > last[0] and numbers[1] >= max(last[1], 0) else NOT_ABOVE

    def misfit(log: Batches, numbers: Numbers) -> str | None:
        return _untimely(log, numbers[0], base_offset + numbers[1])

    return _dump(file, end, _Index("index", _TIME, fields, disorder, misfit), log)


def dump_txn_index(file: OpenFile, end: int, log: Batches | None) -> Iterator[Row]:
    """Yield the rows of a `.txnindex`; its entries are checked against the log if one is given."""
    names = ("version", "producerId", "firstOffset", "lastOffset", "lastStableOffset")

    def fields(numbers: Numbers) -> dict[str, int]:
        return dict(zip(names, numbers, strict=True))

    def disorder(last: Numbers, numbers: Numbers) -> str | None:
        version, _, first_offset, last_offset, _ = numbers
        if version != 0:
            return f"version {version} is not known"
        if last_offset <= last[3] or first_offset > last_offset:
            return f"{NOT_ABOVE}, or ends before it begins"
        return None

    def misfit(log: Batches, numbers: Numbers) -> str | None:
        _, producer_id, _, last_offset, _ = numbers
        if _ends_transaction(log, producer_id, last_offset):
            return None
        return f"no control batch of producer {producer_id} at offset {last_offset}"

    return _dump(file, end, _Index("abort", _TRANSACTION, fields, disorder, misfit), log)


class _Index(NamedTuple):
    """One kind of index: its entries, and the checks of an entry.

    `disorder` compares an entry with the last good one, `misfit` with the batches of the log.
    """

    kind: str
    entry: struct.Struct
    fields: Callable[[Numbers], dict[str, int]]
    disorder: Callable[[Numbers, Numbers], str | None]
    misfit: Callable[[Batches, Numbers], str | None]


def _dump(file: OpenFile, end: int, index: _Index, log: Batches | None) -> Iterator[Row]:
    size = index.entry.size
    last: Numbers = _BELOW_ALL
    for at, numbers in _entries(file, end, index.entry):
        yield Row(index.kind, at, index.fields(numbers))
        fault = index.disorder(last, numbers)
        if fault is None:
            last = numbers
            fault = None if log is None else index.misfit(log, numbers)
        if fault is not None:
            yield damage(at, fault)
    rest = end % size
    if rest:
        yield damage(end - rest, f"the last {rest} bytes are no whole entry")


def _misplaced(log: Batches, offset: int, position: int) -> str | None:
    """Return the reason why no append that ends with `offset` can begin at `position`; None if one can."""
    log.skip(lambda batch: batch.position < position)
    batch = log.current
    if batch is None or batch.position != position:
        return f"no batch begins at position {position} of the log"
    if offset < batch.last_offset or log.passed_offset >= offset:
        return f"the batch at position {position} of the log ends at offset {batch.last_offset}, not {offset}"
    log.skip(lambda batch: batch.last_offset < offset)  # the last of the batches that were appended together
    if log.current is None or log.current.last_offset != offset:
        return f"no batch of the log ends at offset {offset}"
    return None


def _untimely(log: Batches, timestamp: int, offset: int) -> str | None:
    """Return the reason why `timestamp` is not the largest up to `offset`; None if it is."""
    log.skip(lambda batch: batch.last_offset < offset)
    batch = log.current
    if batch is None:
        return f"the log ends before offset {offset}"
    largest = max(log.passed_timestamp, _newest(batch))
    if timestamp not in (largest, max(log.passed_header_timestamp, batch.max_timestamp)):
        return f"the largest timestamp up to offset {offset} is {largest}, not {timestamp}"
    return None


def _newest(batch: DumpedBatch) -> int:
    """Return the largest timestamp of the batch's records, -1 where compaction left none.

    Kafka indexes the timestamp in the header of such an empty batch; kcompat does not.
    """
    return -1 if batch.header is not None and not batch.header.record_count else batch.max_timestamp


def _ends_transaction(log: Batches, producer_id: int, offset: int) -> bool:
    log.skip(lambda batch: batch.last_offset < offset)
    header = None if log.current is None else log.current.header
    return header is not None and header.is_control and header.producer_id == producer_id


class Batches:
    """The batches of the log beside an index, read from the first to the last."""

    def __init__(self, file: OpenFile, end: int) -> None:
        self._rest = read_batches(file, end)
        self.passed_offset = -1
        """Last offset of the batches before the current one; -1 when there is none."""
        self.passed_timestamp = -1
        """Largest timestamp of the records before the current batch."""
        self.passed_header_timestamp = -1
        """Largest max timestamp in the headers before the current batch, also of batches without records."""
        self.current: DumpedBatch | None = None
        self._advance()

    def skip(self, wanted: Callable[[DumpedBatch], bool]) -> None:
        """Skip batches as long as `wanted` is true for the current one."""
        while self.current is not None and wanted(self.current):
            self.passed_offset = self.current.last_offset
            self.passed_timestamp = max(self.passed_timestamp, _newest(self.current))
            self.passed_header_timestamp = max(self.passed_header_timestamp, self.current.max_timestamp)
            self._advance()

    def _advance(self) -> None:
        found = next(self._rest, None)
        self.current = found if isinstance(found, DumpedBatch) else None


def _entries(file: OpenFile, end: int, entry: struct.Struct) -> Iterator[tuple[int, Numbers]]:
    """Yield the byte position of each entry and its numbers, up to the zeros that Kafka preallocates.

    An entry of zeros counts if another entry follows it, or if the file holds nothing else.
    """
    size = entry.size
    filled = _filled(file, end - end % size, size)
    step = size * _ENTRIES_A_READ
    for start in range(0, filled, step):
        data = pread_all(file, min(step, filled - start), start)
        for number, fields in enumerate(entry.iter_unpack(data[: len(data) - len(data) % size])):
            yield start + number * size, fields


def _filled(file: OpenFile, end: int, size: int) -> int:
    """Return the size in bytes of a file of entries without the entries of zeros at its end."""
    stop = end
    while stop > 0:
        start = max(stop - _TAIL_READ, 0)
        data = pread_all(file, stop - start, start).rstrip(b"\0")
        if data:
            return -(-(start + len(data)) // size) * size
        stop = start
    return end if end == size else 0
