"""The batches of a segment file one by one, from any writer, in bounded memory.

`kcompat.log.scan` serves logs that are known to be sound. The functions here trust nothing, and report where
and why a file cannot be read further.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

import msgspec
from crc32c import crc32c

from kcompat.log.files import pread_all
from kcompat.log.segment import MAX_RELATIVE_OFFSET
from kcompat.records.batch import BatchHeader, read_header
from kcompat.records.layout import HEADER_SIZE, LOG_OVERHEAD, MAGIC, MAGIC_AT, NO_TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from kcompat.log.files import OpenFile

_CHUNK = 64 * 1024
_CRC_CHUNK = 1 << 20
_SMALLEST = (26, 34, HEADER_SIZE)
"""Bytes of the smallest batch of each magic: a message without key and value (0, 1), or a batch without
records (2)."""

_OLD = struct.Struct(">qiIbb").unpack_from
_OLD_TIMESTAMP = struct.Struct(">18xq").unpack_from
_OLD_CRC_FROM = 16
_CRC_FROM = 21


class DumpedBatch(msgspec.Struct, frozen=True):
    """A batch described by its header; `header` is None for a message of an old format (magic 0, 1)."""

    position: int
    size: int
    magic: int
    base_offset: int
    last_offset: int
    max_timestamp: int
    attributes: int
    crc: int
    header: BatchHeader | None


class NoBatch(msgspec.Struct, frozen=True):
    """The position from which a file is no longer a row of batches, and the reason."""

    position: int
    message: str


def read_batches(file: OpenFile, end: int) -> Iterator[DumpedBatch | NoBatch]:
    """Yield the batches of a file of `end` bytes; a NoBatch, if any, is the last."""
    position = 0
    chunk, chunk_start = b"", 0
    while position < end:
        at = position - chunk_start
        if at + HEADER_SIZE > len(chunk):
            chunk, chunk_start, at = pread_all(file, min(_CHUNK, end - position), position), position, 0
        head = chunk[at : at + HEADER_SIZE]
        message = _why_no_batch(head, end - position)
        if message is not None:
            yield NoBatch(position, message)
            return
        found = _describe(position, head)
        yield found
        position += found.size


def _why_no_batch(head: bytes, left: int) -> str | None:
    """Return the reason why no batch begins with these bytes, `left` bytes before the end of the file."""
    if not any(head):
        return f"zeros where a batch should begin, up to {left} bytes: unwritten space"
    if left <= MAGIC_AT:
        return f"torn tail: the last {left} bytes are no whole batch"
    magic = head[MAGIC_AT]
    if magic > MAGIC:
        return f"a batch of unknown magic {magic}; what follows cannot be read"
    size = int.from_bytes(head[8:12], "big", signed=True) + LOG_OVERHEAD
    if size < _SMALLEST[magic]:
        return f"a batch that claims to have {size} bytes; what follows cannot be read"
    if size > left:
        return f"torn tail: a batch of {size} bytes, of which {left} are there"
    return None


def _describe(position: int, head: bytes) -> DumpedBatch:
    if head[MAGIC_AT] == MAGIC:
        header = read_header(head)
        return DumpedBatch(
            position,
            header.size,
            MAGIC,
            header.base_offset,
            header.last_offset,
            header.max_timestamp,
            header.attributes,
            header.crc,
            header,
        )
    offset, length, crc, magic, attributes = _OLD(head)
    timestamp = _OLD_TIMESTAMP(head)[0] if magic else NO_TIMESTAMP
    return DumpedBatch(
        position, length + LOG_OVERHEAD, magic, offset, offset, timestamp, attributes, crc, None
    )


def crc_is_right(file: OpenFile, batch: DumpedBatch) -> bool:
    """Return whether the batch's bytes match its stored CRC; they are read in pieces of 1 MiB."""
    checksum, start = (crc32c, _CRC_FROM) if batch.magic == MAGIC else (zlib.crc32, _OLD_CRC_FROM)
    crc = 0
    position, end = batch.position + start, batch.position + batch.size
    while position < end:
        piece = pread_all(file, min(_CRC_CHUNK, end - position), position)
        if not piece:
            return False
        crc = checksum(piece, crc)
        position += len(piece)
    return crc == batch.crc


class Order:
    """Check of the order of batches: offsets and epochs, which lie outside the CRC.

    One object checks all segments of a log in their order, or one segment alone. `known_epochs` has the
    epochs of the checkpoint; None where they are unknown.
    """

    def __init__(self, known_epochs: AbstractSet[int] | None = None) -> None:
        self._known_epochs = known_epochs
        self._oldest_known = min(known_epochs, default=0) if known_epochs is not None else 0
        self._next_offset = 0
        self._epoch = -1
        self._segment_base = 0

    def begin_segment(self, base_offset: int) -> str | None:
        """Go on to the segment of this base offset; return the fault of its start, or None."""
        self._segment_base = base_offset
        needed, self._next_offset = self._next_offset, max(self._next_offset, base_offset)
        if base_offset < needed:
            return f"the segment begins at offset {base_offset}, but the one before it ends at {needed - 1}"
        return None

    def follow(self, batch: DumpedBatch) -> list[str]:
        """Go on to the next batch; return a sentence for each fault of it."""
        faults = []
        if batch.last_offset < batch.base_offset:
            faults.append(f"last offset {batch.last_offset} is below base offset {batch.base_offset}")
        if batch.base_offset < self._next_offset:
            faults.append(f"base offset {batch.base_offset} where {self._next_offset} is the next free one")
        if batch.last_offset - self._segment_base > MAX_RELATIVE_OFFSET:
            faults.append(f"offset {batch.last_offset} is too far from the base of its segment")
        self._next_offset = max(self._next_offset, batch.last_offset + 1)
        epoch = -1 if batch.header is None else batch.header.leader_epoch
        if epoch < self._epoch:
            faults.append(f"leader epoch {epoch} follows {self._epoch}")
        elif epoch > self._epoch:
            self._epoch = epoch
            if not self._is_known(epoch):
                faults.append(f"leader epoch {epoch} is not in the leader-epoch-checkpoint")
        return faults

    def _is_known(self, epoch: int) -> bool:
        """Return whether the epoch checkpoint has this epoch, or has forgotten it as it ended below the log
        start.
        """
        known = self._known_epochs
        return known is None or epoch in known or epoch < self._oldest_known
