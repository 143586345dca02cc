"""The records of one uncompressed batch as spans of its bytes: the one place where cleaning looks at records.

This is the loop that costs; an extension can take its place.
"""

from __future__ import annotations

from typing import Final

from kcompat.records.errors import RecordsDamaged

Span = tuple[int, int, int, int, int, bytes | None, bool]
"""One record: where it starts (with its length), the byte behind its timestamp, its end, timestamp delta,
offset delta, key, and whether it has a value. A plain tuple, since it is made for every record of a log.
"""

START: Final = 0
REST: Final = 1
END: Final = 2
TIMESTAMP_DELTA: Final = 3
HAS_VALUE: Final = 6


def split(body: bytes, count: int) -> list[Span]:
    """The spans of the `count` records that the header announces; RecordsDamaged unless those are there."""
    spans: list[Span] = []
    add = spans.append
    position, size = 0, len(body)
    try:
        while position < size:
            start = position
            length, position = _varint(body, position)
            end = position + length
            if length < 0 or end > size:
                raise RecordsDamaged(f"a record of {length} bytes where {size - position} are left")
            timestamp_delta, rest = _varint(body, position + 1)
            offset_delta, position = _varint(body, rest)
            if (byte := body[position]) < 0x80:  # a call less, for nearly all keys
                key_length, position = (byte >> 1) ^ -(byte & 1), position + 1
            else:
                key_length, position = _varint(body, position)
            key = None
            if key_length >= 0:
                key = body[position : position + key_length]
                position += key_length
            if (byte := body[position]) < 0x80:
                value_length, position = (byte >> 1) ^ -(byte & 1), position + 1
            else:
                value_length, position = _varint(body, position)
            if position + max(value_length, 0) >= end:
                raise RecordsDamaged("a record that ends before its value")
            add((start, rest, end, timestamp_delta, offset_delta, key, value_length >= 0))
            position = end
    except IndexError as error:
        raise RecordsDamaged("the last record is cut short") from error
    if len(spans) != count:
        raise RecordsDamaged(f"{len(spans)} records where the header counts {count}")
    return spans


def _varint(body: bytes, position: int) -> tuple[int, int]:
    """A zigzag varint and the position after it."""
    byte = body[position]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    second = body[position + 1]
    if second < 0x80:
        raw = byte & 0x7F | second << 7
        return (raw >> 1) ^ -(raw & 1), position + 2
    raw, shift = 0, 0
    while byte >= 0x80:
        raw |= (byte & 0x7F) << shift
        shift += 7
        if shift > 63:
            raise RecordsDamaged(f"no varint at byte {position} of the records")
        position += 1
        byte = body[position]
    raw |= byte << shift
    return (raw >> 1) ^ -(raw & 1), position + 1
