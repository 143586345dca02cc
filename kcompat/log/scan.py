"""Reading the batches of a file by their headers, without the records between them."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Final

import msgspec

from kcompat.log.files import pread_all
from kcompat.records.batch import BatchHeader, crc_matches, read_header
from kcompat.records.control import EndTransactionMarker, read_marker
from kcompat.records.errors import RecordsDamaged
from kcompat.records.layout import HEADER_SIZE, MAGIC, NO_LEADER_EPOCH, NO_TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.log.files import OpenFile

_CHUNK: Final = 8 * 1024
_BIG_CHUNK: Final = 1 << 20
_BRIEF = struct.Struct(">qi4xb6xi").unpack_from
_BRIEF_SIZE: Final = 27
_LOG_OVERHEAD: Final = 12
_OLD_CRC_END: Final = 16
_OLD_MINIMUM: Final = 26

Brief = tuple[int, int, int, int]
"""Position, base offset, last offset and size in bytes of a batch."""


class InvalidBatchError(Exception):
    """A batch in a file is incomplete or wrong; the text has its position and the fault."""

    def __init__(self, position: int, fault: str) -> None:
        super().__init__(f"the batch at byte {position} {fault}")


class FoundBatch(msgspec.Struct):
    """An intact batch described by its header; `timestamp` is that of its newest record.

    In the old formats (magic 0, 1) it is one outer message, of which only the last offset is known; it has
    neither epoch nor `header`.
    """

    position: int
    size: int
    base_offset: int
    last_offset: int
    timestamp: int
    epoch: int
    header: BatchHeader | None = None
    marker: EndTransactionMarker | None = None


def walk(file: OpenFile, position: int, end: int) -> Iterator[Brief]:
    """Yield the whole batches from `position` up to `end`, as their headers describe them; nothing is
    checked.

    In the old formats (magic 0, 1) each outer message is one batch.
    """
    chunk, chunk_start = b"", position
    while end - position >= _OLD_MINIMUM:
        at = position - chunk_start
        if at + _BRIEF_SIZE > len(chunk):
            chunk, chunk_start, at = pread_all(file, min(_CHUNK, end - position), position), position, 0
            if len(chunk) < _BRIEF_SIZE:
                chunk = chunk.ljust(_BRIEF_SIZE, b"\0")
        base, length, magic, delta = _BRIEF(chunk, at)
        size = length + _LOG_OVERHEAD
        if size < _OLD_MINIMUM or size > end - position:
            return
        yield position, base, (base + delta if magic >= MAGIC else base), size
        position += size


def walk_headers(file: OpenFile, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """Yield position and whole header of each batch of the current format from `position` up to `end`.

    Batches of old formats are skipped.
    """
    chunk, chunk_start = b"", position
    for position, _, _, size in walk(file, position, end):  # noqa: B020
        at = position - chunk_start
        if at + HEADER_SIZE > len(chunk):
            chunk, chunk_start, at = pread_all(file, min(_CHUNK, end - position), position), position, 0
        if size >= HEADER_SIZE and chunk[at + 16] == MAGIC:
            yield position, read_header(chunk, at)


def walk_valid(file: OpenFile, end: int) -> Iterator[tuple[int, memoryview]]:
    """Yield position and bytes of each batch of the first `end` bytes of a file.

    For recovery: sizes are checked against the file before anything is read, and every CRC is checked. Magic,
    offsets and epochs lie outside the CRC; the caller judges them. Raises InvalidBatchError at the first
    batch that is not whole and right.
    """
    position = 0
    chunk, chunk_start = memoryview(b""), 0
    while position < end:
        left = end - position
        if left < _OLD_MINIMUM:
            raise InvalidBatchError(position, f"is not whole: only {left} bytes of it are there")
        at = position - chunk_start
        if at + _LOG_OVERHEAD > len(chunk):
            chunk, chunk_start, at = _read(file, position, min(_BIG_CHUNK, left)), position, 0
        size = int.from_bytes(chunk[at + 8 : at + 12], "big", signed=True) + _LOG_OVERHEAD
        if size < _OLD_MINIMUM:
            raise InvalidBatchError(position, f"has a length of {size} bytes, which no batch has")
        if size > left:
            raise InvalidBatchError(position, f"is not whole: only {left} of its {size} bytes are there")
        if at + size > len(chunk):
            length = min(max(_BIG_CHUNK, size), left)
            chunk, chunk_start, at = _read(file, position, length), position, 0
        batch = chunk[at : at + size]
        if not is_intact(batch):
            magic = batch[16]
            wrong = "a wrong CRC" if magic <= MAGIC else f"the unknown magic {magic}"
            raise InvalidBatchError(position, f"has {wrong}")
        yield position, batch
        position += size


def is_intact(batch: memoryview) -> bool:
    """Return whether the bytes are a batch whose CRC is right for its magic."""
    magic = batch[16]
    if magic == MAGIC:
        return len(batch) >= HEADER_SIZE and crc_matches(batch, 0, len(batch))
    if magic > MAGIC:
        return False
    return zlib.crc32(batch[_OLD_CRC_END:]) == int.from_bytes(batch[_LOG_OVERHEAD:_OLD_CRC_END], "big")


def describe(position: int, batch: memoryview) -> FoundBatch | None:
    """Describe an intact batch by its header; return None for a transaction's marker that cannot be read."""
    magic = batch[16]
    if magic < MAGIC:
        offset = int.from_bytes(batch[:8], "big", signed=True)
        timestamp = int.from_bytes(batch[18:26], "big", signed=True) if magic else NO_TIMESTAMP
        return FoundBatch(position, len(batch), offset, offset, timestamp, NO_LEADER_EPOCH)
    header = read_header(batch)
    marker = None
    if header.is_control and header.producer_id >= 0:
        try:
            marker = read_marker(batch)
        except RecordsDamaged:
            return None
    first, last, timestamp = header.base_offset, header.last_offset, newest_timestamp(header)
    return FoundBatch(position, len(batch), first, last, timestamp, header.leader_epoch, header, marker)


def newest_timestamp(header: BatchHeader) -> int:
    """Return the largest timestamp of the records in a batch; -1 where compaction left it empty."""
    return header.max_timestamp if header.record_count else NO_TIMESTAMP


def _read(file: OpenFile, position: int, length: int) -> memoryview:
    return memoryview(pread_all(file, length, position))
