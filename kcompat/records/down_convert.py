"""Conversion of stored batches to messages of magic 0 or 1, for old clients (Kafka's `RecordsUtil`).

A compressed batch becomes one wrapper under the same codec, an uncompressed one plain messages. Headers,
producer ids, leader epochs, and for magic 0 timestamps are dropped, and so are control batches.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kcompat.records._python import Fault
from kcompat.records.batch import read_header
from kcompat.records.compression import DEFAULT_MAX_MESSAGE_BYTES, Codec, decompress
from kcompat.records.conversion import FIRST, encode_wrapper, write_messages
from kcompat.records.errors import RecordsDamaged
from kcompat.records.layout import (
    HEADER_SIZE,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MAGIC_AT,
    NO_TIMESTAMP,
    SMALLEST_MESSAGE,
)
from kcompat.records.message_set import (
    LEGACY_CODECS,
    MAGIC_V0,
    MAGIC_V1,
    encode_message,
    read_messages,
    shallow_messages,
)
from kcompat.records.scanning import damage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcompat.records._python import Buffer
    from kcompat.records.batch import BatchHeader

PIECE = 128 * 1024
"""Approximate size in bytes of one piece of an uncompressed batch, and of filling."""

_OVERFLOW = struct.Struct(">qi")


class UnsupportedCodec(Exception):  # noqa: N818 - the state of a batch, not an error of the program
    """The batch has a codec that the old formats lack. On the wire: UNSUPPORTED_COMPRESSION_TYPE."""


def down_convert(
    batch: memoryview, magic: int, first_offset: int, max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
) -> Iterator[bytes]:
    """Yield the messages of one whole batch in pieces; none for a control batch or an empty one.

    Messages that an old Kafka stored in that format, or an older one, are not changed. Of others, messages
    below `first_offset` are left out, unless they are compressed. Raises `UnsupportedCodec` (zstd) and
    `RecordsDamaged`.
    """
    if len(batch) < LOG_OVERHEAD + SMALLEST_MESSAGE:
        raise RecordsDamaged(f"a batch of {len(batch)} bytes")
    stored_magic = batch[MAGIC_AT]
    if stored_magic <= magic:
        yield bytes(batch)
    elif stored_magic == MAGIC_V1:
        yield from _without_timestamps(batch, first_offset, max_message_bytes)
    else:
        if len(batch) < HEADER_SIZE:
            raise RecordsDamaged(f"a batch v2 of {len(batch)} bytes")
        header = read_header(batch)
        if header.is_control:
            return
        if header.codec not in LEGACY_CODECS:
            raise UnsupportedCodec(f"compression codec {header.codec} in message format v{magic}")
        records = batch[HEADER_SIZE : header.size]
        if header.codec == Codec.NONE:
            yield from _Messages(header, magic, first_offset, origin=0).pieces([records])
        elif wrapper := _wrap(header, magic, decompress(header.codec, records, max_message_bytes)):
            yield wrapper


def _without_timestamps(batch: memoryview, first_offset: int, max_message_bytes: int) -> Iterator[bytes]:
    """Convert a stored message of magic 1 to magic 0."""
    outer = next(shallow_messages(batch))
    messages = list(read_messages(batch, max_message_bytes))
    plain = b"".join(
        encode_message(m.offset, MAGIC_V0, 0, m.timestamp, m.key, m.value)
        for m in messages
        if outer.codec or m.offset >= first_offset
    )
    if outer.codec:
        last = messages[-1].offset
        plain = encode_wrapper(
            plain, Codec(outer.codec), MAGIC_V0, last_offset=last, attributes=0, timestamp=NO_TIMESTAMP
        )
    if plain:
        yield plain


def _wrap(header: BatchHeader, magic: int, chunks: Iterable[bytes]) -> bytes | None:
    """Return the wrapper of all messages; None for an empty batch."""
    messages = _Messages(header, magic, 0, origin=FIRST if magic == MAGIC_V1 else 0)
    inner = b"".join(messages.pieces(chunks))
    if not inner:
        return None
    return encode_wrapper(
        inner,
        Codec(header.codec),
        magic,
        last_offset=messages.last_offset,
        attributes=messages.attributes,
        timestamp=messages.newest,
    )


class _Messages:
    """Converter of one batch's records to plain messages, with offsets relative to `origin` (which may be
    `FIRST`).

    Records below `first_offset` are left out, if that is not 0.
    """

    def __init__(self, header: BatchHeader, magic: int, first_offset: int, origin: int) -> None:
        self.attributes = 0
        """Attributes of each message, without a codec."""
        self.last_offset = self.newest = -1
        """Last offset and largest timestamp of the messages so far."""
        self._magic = magic
        self._base_offset, self._base_timestamp = header.base_offset, header.base_timestamp
        if header.uses_log_append_time:
            self.attributes = LOG_APPEND_TIME_FLAG if magic == MAGIC_V1 else 0
            self._base_timestamp = header.max_timestamp
        self._first_offset, self._origin = first_offset, origin
        self._count = 0

    def pieces(self, chunks: Iterable[Buffer]) -> Iterator[bytes]:
        """Yield messages made of the records in `chunks`, cut anywhere. Raises `RecordsDamaged`."""
        pending = bytearray()
        for chunk in chunks:
            records = chunk
            if pending:
                pending += chunk
                records = pending
            position, fault = 0, int(Fault.WHOLE)
            while not fault and position < len(records):
                messages, position, fault = self._write(records, position)
                if messages:
                    yield messages
            if fault > Fault.CUT:
                raise damage(self._count, fault)
            if records is pending:
                del pending[:position]
            else:
                pending += records[position:]
        if pending:
            raise damage(self._count, Fault.CUT)

    def _write(self, records: Buffer, position: int) -> tuple[bytes, int, int]:
        messages, position, fault, count, self._origin, last, newest = write_messages(
            records,
            position,
            PIECE,
            self._magic,
            self.attributes,
            self._base_offset,
            self._base_timestamp,
            self._first_offset,
            self._origin,
        )
        if count:
            self._count += count
            self.last_offset = last
            self.newest = max(self.newest, newest)
        return messages, position, fault


def overflow_message(room: int) -> bytes:
    """Return the beginning of a message that does not fit into `room` bytes, at most 128 KiB of it.

    It fills up the rest of a response: an old client learns that there is more to fetch, although no whole
    message was sent.
    """
    return _OVERFLOW.pack(-1, max(room + 1, HEADER_SIZE)).ljust(min(room, PIECE), b"\0")[:room]
