"""The records inside a batch v2: varints, and reading and writing records one by one.

Never on the hot path: coordinators reading their own topics, checks of compacted topics, tools and tests.

A record: varint length, int8 attributes, varlong timestamp delta, varint offset delta, varint key length (-1 is
null), key, varint value length, value, varint header count, and per header varint key length, key, varint value
length, value. Varints are zigzag, at most 5 bytes (10 for a varlong). Answers to Kafka's `DefaultRecord`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kcompat.records.errors import RecordsDamaged

if TYPE_CHECKING:
    from collections.abc import Sequence

Header = tuple[str, bytes | None]


class Record(msgspec.Struct, frozen=True):
    """One record: absolute offset, timestamp in ms since the epoch (-1: none), key and value (None is null)."""

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


def read_varint(view: bytes | memoryview, position: int, max_bytes: int = 5) -> tuple[int, int]:
    """A zigzag varint and the position after it; raises `RecordsDamaged` past `max_bytes` or the end."""
    raw = shift = 0
    for at in range(position, min(position + max_bytes, len(view))):
        byte = view[at]
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (raw >> 1) ^ -(raw & 1), at + 1
        shift += 7
    raise RecordsDamaged(f"no varint of at most {max_bytes} bytes at byte {position} of the records")


def encode_records(records: Sequence[Record], base_timestamp: int) -> bytearray:
    """The records as a batch's body, uncompressed, at offset deltas 0, 1, 2, ..."""
    out = bytearray()
    for delta, record in enumerate(records):
        body = bytearray(1)
        append_varint(body, record.timestamp - base_timestamp)
        append_varint(body, delta)
        _append_bytes(body, record.key)
        _append_bytes(body, record.value)
        append_varint(body, len(record.headers))
        for name, value in record.headers:
            _append_bytes(body, name.encode())
            _append_bytes(body, value)
        append_varint(out, len(body))
        out += body
    return out


def _append_bytes(out: bytearray, value: bytes | None) -> None:
    if value is None:
        out.append(1)  # the varint -1
    else:
        append_varint(out, len(value))
        out += value
