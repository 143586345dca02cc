"""The records of one uncompressed batch as spans of its bytes: the one place where cleaning looks at records.

This is the loop that costs; an extension can take its place.
"""

from __future__ import annotations

from typing import NamedTuple

from kcompat.records.errors import RecordsDamaged


class Span(NamedTuple):
    """One record: its bytes from its length at `start` up to `end`; `rest` is behind the timestamp."""

    start: int
    rest: int
    end: int
    timestamp_delta: int
    offset_delta: int
    key: bytes | None
    has_value: bool


def split(body: bytes, count: int) -> list[Span]:
    """The spans of the `count` records that the header announces; RecordsDamaged unless those are there."""
    spans: list[Span] = []
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
            key_length, position = _varint(body, position)
            key = None
            if key_length >= 0:
                key = body[position : position + key_length]
                position += key_length
            value_length, position = _varint(body, position)
            if position + max(value_length, 0) >= end:
                raise RecordsDamaged("a record that ends before its value")
            spans.append(Span(start, rest, end, timestamp_delta, offset_delta, key, value_length >= 0))
            position = end
    except IndexError as error:
        raise RecordsDamaged("the last record is cut short") from error
    if len(spans) != count:
        raise RecordsDamaged(f"{len(spans)} records where the header counts {count}")
    return spans


def _varint(body: bytes, position: int) -> tuple[int, int]:
    byte = body[position]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    raw = byte & 0x7F
    shift = 7
    while True:
        position += 1
        byte = body[position]
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (raw >> 1) ^ -(raw & 1), position + 1
        shift += 7
        if shift > 63:
            raise RecordsDamaged(f"no varint at byte {position} of the records")
