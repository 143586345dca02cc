"""The records inside a batch v2: what one is, and writing them. Reading them is `scanning`'s.

Never on the hot path: coordinators writing to their own topics, tools and tests.

A record: varint length, int8 attributes, varlong timestamp delta, varint offset delta, varint key length
(-1 is null), key, varint value length, value, varint header count, and per header varint key length, key,
varint value length, value. Varints are zigzag, at most 5 bytes (a varlong 10). Kafka's counterpart:
`DefaultRecord`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

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
