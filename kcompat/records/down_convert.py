"""Stored batches as messages of magic 0 or 1, for clients that know nothing newer (Kafka's `RecordsUtil`).

A compressed batch becomes one wrapper under the same codec, an uncompressed one plain messages. Headers,
producer ids and leader epochs have no place there, and timestamps none in magic 0. Control batches vanish.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kcompat.records.batch import HEADER_SIZE, LOG_APPEND_TIME_FLAG, LOG_OVERHEAD, read_header
from kcompat.records.compression import DEFAULT_MAX_MESSAGE_BYTES, Codec, decompress
from kcompat.records.errors import RecordsDamaged
from kcompat.records.message_set import (
    LEGACY_CODECS,
    MAGIC_V1,
    SMALLEST_MESSAGE,
    encode_message,
    encode_wrapper,
    read_messages,
    shallow_messages,
)
from kcompat.records.scanning import read_records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.records._python import Fields

PIECE = 128 * 1024
"""About the bytes of one piece of an uncompressed batch, and of filling."""

_NO_HEADERS = ()

_MAGIC_AT = 16
_OVERFLOW = struct.Struct(">qi")


class UnsupportedCodec(Exception):  # noqa: N818 - says what is the matter
    """A batch under a codec that the old formats do not have. On the wire: UNSUPPORTED_COMPRESSION_TYPE."""


def down_convert(
    batch: memoryview, magic: int, first_offset: int, max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
) -> Iterator[bytes]:
    """The messages of one whole batch, in pieces; none for a control batch or an empty one.

    What an old Kafka stored in that format, or an older one, stays as it is. Of the rest, messages below
    `first_offset` are left out, unless they are compressed. Raises `UnsupportedCodec` (zstd) and
    `RecordsDamaged`.
    """
    if len(batch) < LOG_OVERHEAD + SMALLEST_MESSAGE:
        raise RecordsDamaged(f"a batch of {len(batch)} bytes")
    stored_magic = batch[_MAGIC_AT]
    if stored_magic <= magic:
        yield bytes(batch)
    elif stored_magic == MAGIC_V1:
        outer = bytes(batch)
        codec = Codec(next(shallow_messages(outer)).codec)
        messages = read_messages(outer, max_message_bytes)
        fields = ((m.offset, m.timestamp, m.key, m.value, _NO_HEADERS) for m in messages)
        yield from _encode(fields, codec, magic, 0, first_offset)
    else:
        if len(batch) < HEADER_SIZE:
            raise RecordsDamaged(f"a batch v2 of {len(batch)} bytes")
        header = read_header(batch)
        if header.is_control:
            return
        if header.codec not in LEGACY_CODECS:
            raise UnsupportedCodec(f"compression codec {header.codec} in message format v{magic}")
        chunks = decompress(header.codec, batch[HEADER_SIZE : header.size], max_message_bytes)
        records = read_records(chunks, header.base_offset, header.base_timestamp)
        attributes = 0
        if header.uses_log_append_time:
            attributes = LOG_APPEND_TIME_FLAG if magic == MAGIC_V1 else 0
            stamp = header.max_timestamp
            records = ((offset, stamp, key, value, _NO_HEADERS) for offset, _, key, value, _ in records)
        yield from _encode(records, Codec(header.codec), magic, attributes, first_offset)


def _encode(
    fields: Iterator[Fields], codec: Codec, magic: int, attributes: int, first_offset: int
) -> Iterator[bytes]:
    """Plain messages from `first_offset` on, or all of them in a wrapper; `attributes` lack the codec."""
    if codec != Codec.NONE:
        if wrapper := _wrap(fields, codec, magic, attributes):
            yield wrapper
        return
    pieces, size = [], 0
    for offset, timestamp, key, value, _ in fields:
        if offset < first_offset:
            continue
        message = encode_message(offset, magic, attributes, timestamp, key, value)
        pieces.append(message)
        size += len(message)
        if size >= PIECE:
            yield b"".join(pieces)
            pieces, size = [], 0
    if pieces:
        yield b"".join(pieces)


def _wrap(fields: Iterator[Fields], codec: Codec, magic: int, attributes: int) -> bytes | None:
    inner = bytearray()
    first = last = max_timestamp = -1
    for last, timestamp, key, value, _ in fields:
        if first < 0:
            first = last
        if timestamp > max_timestamp:
            max_timestamp = timestamp
        offset = last - first if magic == MAGIC_V1 else last
        inner += encode_message(offset, magic, attributes, timestamp, key, value)
    if not inner:
        return None
    return encode_wrapper(
        inner, codec, magic, last_offset=last, attributes=attributes, timestamp=max_timestamp
    )


def overflow_message(room: int) -> bytes:
    """The beginning of a message that `room` bytes cannot hold, or the first 128 KiB of that.

    It fills up the rest of an answer: an old client sees that there is more, and that it was not empty.
    """
    return _OVERFLOW.pack(-1, max(room + 1, HEADER_SIZE)).ljust(min(room, PIECE), b"\0")[:room]
