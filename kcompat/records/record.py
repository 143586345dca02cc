"""The records inside a batch v2: their structure, and writing them; `scanning` reads them.

Never on the hot path: coordinators writing to their own topics, tools and tests.

A record: varint length, int8 attributes, varlong timestamp delta, varint offset delta, varint key length (-1
is null), key, varint value length, value, varint header count, and per header varint key length, key, varint
value length, value. Varints are zigzag, at most 5 bytes (a varlong 10). Kafka's counterpart: `DefaultRecord`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

Header = tuple[str, bytes | None]


class Record(msgspec.Struct, frozen=True):
    """One record: absolute offset, timestamp in ms (-1: none), key and value (None: null), headers."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


def append_varint(out: bytearray, value: int) -> None:
    """Append `value` (up to 64 bits, signed) as a zigzag varint."""
    out += _varint(value)


def _varint(value: int) -> bytes:
    if 0 <= value < len(_SHORT):
        return _SHORT[value]
    return _encoded(value)


def _encoded(value: int) -> bytes:
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_SHORT: Final = [_encoded(value) for value in range(1024)]
"""Encoded forms of most lengths and deltas."""


def encode_records(records: Sequence[Record], base_timestamp: int) -> bytearray:
    """Encode the records as an uncompressed batch body, at offset deltas 0, 1, 2, ..."""
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
    body = [_NO_ATTRIBUTES, _varint(timestamp_delta), _varint(offset_delta), *_sized(key), *_sized(value)]
    body.append(_varint(len(headers)))
    for name, content in headers:
        body += _sized(name.encode())
        body += _sized(content)
    joined = b"".join(body)
    out += _varint(len(joined))
    out += joined


def _sized(value: bytes | None) -> tuple[bytes, bytes]:
    """Return the encoded length of a field, and its bytes."""
    return (_NULL, b"") if value is None else (_varint(len(value)), value)


_NO_ATTRIBUTES: Final = b"\0"
_NULL: Final = _encoded(-1)
