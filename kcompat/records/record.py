"""The records inside a batch v2: varints, and reading and writing records one by one.

Never on the hot path: coordinators reading their own topics, checks of compacted topics, tools and tests.

A record: varint length, int8 attributes, varlong timestamp delta, varint offset delta, varint key length
(-1 is null), key, varint value length, value, varint header count, and per header varint key length, key,
varint value length, value. Varints are zigzag, at most 5 bytes (a varlong 10). Answers to Kafka's
`DefaultRecord`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kcompat.records.errors import RecordsDamaged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MAX_VARINT = 5
"""Bytes of the longest varint of 32 bits."""

Header = tuple[str, bytes | None]


class Record(msgspec.Struct, frozen=True):
    """One record: absolute offset, timestamp in ms (-1: none), key and value (None is null), headers."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


def append_varint(out: bytearray, value: int) -> None:
    """Append `value` (up to 64 bits, signed) as a zigzag varint."""
    value = (value << 1) ^ (value >> 63)
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def read_varint(view: bytes | memoryview, position: int, max_bytes: int = MAX_VARINT) -> tuple[int, int]:
    """A zigzag varint and the position after it; raises `RecordsDamaged` past `max_bytes` or the end."""
    if position < len(view) and (byte := view[position]) < 0x80:  # nearly all of them
        return (byte >> 1) ^ -(byte & 1), position + 1
    raw = shift = 0
    for at in range(position, min(position + max_bytes, len(view))):
        byte = view[at]
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (raw >> 1) ^ -(raw & 1), at + 1
        shift += 7
    raise RecordsDamaged(f"no varint of at most {max_bytes} bytes at byte {position} of the records")


def split_records(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes of each record, without its length, from a batch's uncompressed bytes in any pieces.

    Holds one record and one piece at a time. Raises `RecordsDamaged` at a length that lies.
    """
    pending, needed = bytearray(), 0
    for chunk in chunks:
        pending += chunk
        if len(pending) < needed:
            continue
        data, position, needed = bytes(pending), 0, 0
        while position < len(data):
            if len(data) - position < MAX_VARINT and data[-1] >= 0x80:
                break  # the length may go on in the next piece
            length, start = read_varint(data, position)
            if length < 0:
                raise RecordsDamaged(f"a record of {length} bytes")
            if start + length > len(data):
                needed = start + length - position
                break
            yield data[start : start + length]
            position = start + length
        del pending[:position]
    if pending:
        raise RecordsDamaged(f"the last {len(pending)} bytes of a batch are no whole record")


def encode_records(records: Sequence[Record], base_timestamp: int) -> bytearray:
    """The records as a batch's body, uncompressed, at offset deltas 0, 1, 2, ..."""
    out = bytearray()
    for delta, record in enumerate(records):
        append_record(out, record.timestamp - base_timestamp, delta, record.key, record.value, record.headers)
    return out


def append_record(
    out: bytearray,
    timestamp_delta: int,
    offset_delta: int,
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[Header] = (),
) -> None:
    """Append one record to a batch's body."""
    body = bytearray(1)
    append_varint(body, timestamp_delta)
    append_varint(body, offset_delta)
    _append_bytes(body, key)
    _append_bytes(body, value)
    append_varint(body, len(headers))
    for name, content in headers:
        _append_bytes(body, name.encode())
        _append_bytes(body, content)
    append_varint(out, len(body))
    out += body


def _append_bytes(out: bytearray, value: bytes | None) -> None:
    if value is None:
        out.append(1)  # the varint -1
    else:
        append_varint(out, len(value))
        out += value


def read_bytes(body: bytes, position: int) -> tuple[bytes | None, int]:
    """A length-prefixed value, None for a negative length, and the position after it."""
    length, position = read_varint(body, position)
    if length < 0:
        return None, position
    end = position + length
    if end > len(body):
        raise RecordsDamaged(f"a field of {length} bytes where {len(body) - position} are left")
    return body[position:end], end
