"""A range of a log converted to an older message format while it is sent.

Kafka's counterpart: `LazyDownConversionRecords` and `LazyDownConversionRecordsSend` (KIP-283). The size of
the response is fixed beforehand, from the size of the range and of its first batch converted. The rest is
converted piece by piece. It is cut where that size ends, or filled up with the beginning of a message, which
the client takes for one that did not fit.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from kcompat.log.files import pread_all
from kcompat.records.batch import read_header
from kcompat.records.down_convert import UnsupportedCodec, down_convert, overflow_message
from kcompat.records.errors import RecordsDamaged
from kcompat.records.layout import LOG_OVERHEAD, MAGIC, MAGIC_AT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kcompat.log.files import FileRange

_READ = 128 * 1024
_PIECE_BYTES = 32 * 1024
"""Minimum number of bytes of messages in a piece; smaller pieces are joined, while joining larger ones would
cost a copy.
"""


class ConvertedRange:
    """The messages of the batches in `source`, from `first_offset` on, as a part of a response.

    The constructor converts the first batch: it raises `UnsupportedCodec` or `RecordsDamaged` if that fails,
    and OSError. Later batches that cannot be converted end the messages; the next fetch begins with them.
    """

    __slots__ = ("_left", "_pieces", "_size")

    def __init__(
        self,
        source: FileRange,
        magic: int,
        first_offset: int,
        max_message_bytes: int,
        note: Callable[[int], object] = lambda _records: None,
    ) -> None:
        """Convert the first batch. `note` is called with the number of records of each batch to convert."""
        batches = _noted(_batches(source), note)
        first: list[bytes] = []
        size = 0
        for batch in batches:
            first = list(down_convert(batch, magic, first_offset, max_message_bytes))
            size = max(len(source), sum(map(len, first))) if first else LOG_OVERHEAD
            if first:
                break
        later = _converted(batches, magic, max_message_bytes)
        self._pieces = _pieces(chain(first, later))
        self._size = self._left = size

    def __len__(self) -> int:
        return self._size

    def next_piece(self) -> bytes:
        """Return the next bytes, at least one, until `len` of them were returned. OSError passes through."""
        piece = (next(self._pieces, b"") or overflow_message(self._left))[: self._left]
        self._left -= len(piece)
        return piece


def _pieces(messages: Iterable[bytes]) -> Iterator[bytes]:
    """Join messages into pieces of at least `_PIECE_BYTES` bytes, as single messages are smaller."""
    gathered, size = [], 0
    for message in messages:
        gathered.append(message)
        size += len(message)
        if size >= _PIECE_BYTES:
            yield b"".join(gathered)
            gathered, size = [], 0
    if gathered:
        yield b"".join(gathered)


def _converted(batches: Iterator[memoryview], magic: int, max_message_bytes: int) -> Iterator[bytes]:
    try:
        for batch in batches:
            yield from down_convert(batch, magic, 0, max_message_bytes)
    except (UnsupportedCodec, RecordsDamaged):
        return


def _noted(batches: Iterator[memoryview], note: Callable[[int], object]) -> Iterator[memoryview]:
    for batch in batches:
        if batch[MAGIC_AT] == MAGIC:
            note(read_header(batch).record_count)
        yield batch


def _batches(source: FileRange) -> Iterator[memoryview]:
    """Yield the whole batches of a range; at most a few, or one large one, are in memory."""
    position, end = source.position, source.position + source.length
    while (batch_size := _size_at(source, position, end)) is not None:
        # where only one batch fits, only one is read
        wanted = batch_size if 2 * batch_size > _READ else _READ
        data = memoryview(pread_all(source.file, min(wanted, end - position), position))
        at = 0
        while (size := _whole_size(data[at:])) is not None:
            yield data[at : at + size]
            at += size
        if not at:
            return  # the file has become shorter than the range
        position += at


def _size_at(source: FileRange, position: int, end: int) -> int | None:
    """Return the size of the batch at `position`; None if it does not end by `end`."""
    size = _declared_size(pread_all(source.file, LOG_OVERHEAD, position)) if position < end else None
    return size if size is not None and size <= end - position else None


def _whole_size(data: memoryview) -> int | None:
    """Return the size of the batch that `data` begins with; None if it is cut short."""
    size = _declared_size(data)
    return size if size is not None and size <= len(data) else None


def _declared_size(data: bytes | memoryview) -> int | None:
    if len(data) < LOG_OVERHEAD:
        return None
    return LOG_OVERHEAD + max(int.from_bytes(data[8:LOG_OVERHEAD], "big", signed=True), 0)
