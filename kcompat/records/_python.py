"""The scanner of records v2: the pure-Python implementation of `_native.c`.

Both examine whole, uncompressed records and report the first fault as a value. A caller that has the records
in pieces continues after a `Fault.CUT`. Used through `scanning` alone.
"""

from __future__ import annotations

from enum import IntEnum

from kcompat.records.layout import (
    CODEC_MASK,
    CONTROL_FLAG,
    HEADER,
    HEADER_SIZE,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MAGIC,
    NO_TIMESTAMP,
)

Buffer = bytes | bytearray | memoryview
Headers = tuple[tuple[str, bytes | None], ...]
Fields = tuple[int, int, bytes | None, bytes | None, Headers]
"""Fields of a `Record`: offset, timestamp in ms, key, value, headers."""
HeaderFields = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int]
"""Fields of a `BatchHeader`, in its order."""

NEVER = 2**63 - 1
"""The oldest timestamp of records that have none."""

_SIGN = 1 << 63

_UNUSUAL = CODEC_MASK | LOG_APPEND_TIME_FLAG | CONTROL_FLAG


class Fault(IntEnum):
    """Faults of a record; `WHOLE` means that it has no fault."""

    WHOLE = 0
    CUT = 1
    LENGTH = 2
    VARINT = 3
    FIELD = 4
    HEADER_COUNT = 5
    HEADER_KEY = 6
    LEFT_OVER = 7
    OFFSET_DELTA = 8


class _Faulty(Exception):  # noqa: N818 - never leaves this module
    def __init__(self, fault: Fault) -> None:
        self.fault = fault


def checks_crc() -> bool:
    """Return whether `inspect` checks the CRC; the extension does on processors with CRC instructions."""
    return False


def inspect(
    batch: Buffer, most_bytes: int, now_ms: int, before_ms: int, after_ms: int, /
) -> tuple[HeaderFields, int] | None:
    """Check a produced batch in one pass; return None if anything about it is wrong or unusual.

    The CRC is checked if `checks_crc` is true. Unusual are compression, LogAppendTime, control records, bytes
    before or behind the batch, more than `most_bytes`, a max timestamp that is not that of the records, and
    timestamps more than `before_ms` before `now_ms` or `after_ms` after it (neither negative). Returns the
    header's fields and the number of null keys.
    """
    size = len(batch)
    if not HEADER_SIZE <= size <= most_bytes:
        return None
    fields: HeaderFields = HEADER.unpack_from(batch)
    base, length, _, magic, _, attributes, last_delta, base_time, max_time = fields[:9]
    producer, _, sequence, count = fields[9:]
    plain = (
        magic == MAGIC
        and length == size - LOG_OVERHEAD
        and base == 0
        and not attributes & _UNUSUAL
        and count > 0
        and count == last_delta + 1
        and (producer < 0 or sequence >= 0)
    )
    if not plain:
        return None
    found, _, fault, newest, oldest, keyless = scan(memoryview(batch)[HEADER_SIZE:], 0, base_time)
    timely = now_ms - oldest <= before_ms and newest - now_ms <= after_ms
    good = not fault and found == count and newest == max_time and timely
    return (fields, keyless) if good else None


def scan(body: Buffer, first_index: int, base_timestamp: int, /) -> tuple[int, int, int, int, int, int]:
    """Check each record: lengths, varints, headers, and offset deltas that count up from `first_index`.

    Returns, up to the first fault: the number of records; their size in bytes; the `Fault`; the largest
    timestamp (at least -1); the smallest of those that are not -1 (or `NEVER`); the number of null keys.
    """
    data, size = _indexed(body), len(body)
    count = end = keyless = 0
    newest, oldest, fault = NO_TIMESTAMP, NEVER, Fault.WHOLE
    try:
        while end < size:
            start, stop = _open(data, end)
            timestamp_delta, offset_delta, key_start, key_end, _, _, headers, at = _read(data, start, stop)
            if headers or at != stop:
                _read_headers(data, at, stop, headers)
            if offset_delta != first_index + count:
                fault = Fault.OFFSET_DELTA
                break
            timestamp = base_timestamp + timestamp_delta
            if not -_SIGN <= timestamp < _SIGN:
                timestamp = _wrap(timestamp)
            if timestamp > newest:
                newest = timestamp
            if timestamp < oldest and timestamp != NO_TIMESTAMP:
                oldest = timestamp
            if key_end < key_start:
                keyless += 1
            count += 1
            end = stop
    except _Faulty as found:
        fault = found.fault
    return count, end, fault, newest, oldest, keyless


def read(
    body: Buffer, position: int, limit: int, base_offset: int, base_timestamp: int, /
) -> tuple[list[Fields], int, int]:
    """Return at most `limit` records from `position` on, the position of the next one, and the first
    `Fault`.

    Offset deltas may have gaps, which compaction leaves. Raises `ValueError` for a position outside the
    buffer.
    """
    data, size = _indexed(body), len(body)
    if not 0 <= position <= size:
        raise ValueError("a position outside the records")
    records: list[Fields] = []
    fault = Fault.WHOLE
    try:
        while position < size and len(records) < limit:
            start, stop = _open(data, position)
            timestamp, offset, key_start, key_end, value_start, value_end, headers, at = _read(
                data, start, stop
            )
            pairs = _read_headers(data, at, stop, headers) if headers or at != stop else ()
            key = bytes(data[key_start:key_end]) if key_end >= key_start else None
            value = bytes(data[value_start:value_end]) if value_end >= value_start else None
            records.append(
                (_wrap(base_offset + offset), _wrap(base_timestamp + timestamp), key, value, pairs)
            )
            position = stop
    except _Faulty as found:
        fault = found.fault
    return records, position, fault


def _indexed(body: Buffer) -> bytes | bytearray:
    """Return the bytes as an object that is fast to index: `bytes`, or the `bytearray` itself.

    A `bytearray` is not copied: a reader of chunks gathers a large record in one, and calls with every chunk.
    """
    return body if isinstance(body, bytes | bytearray) else bytes(body)


def _wrap(value: int) -> int:
    """Wrap a number around at 64 bits, like a Java `long`."""
    return (value + _SIGN) % (2 * _SIGN) - _SIGN


def read_varint(data: bytes | bytearray, position: int, end: int, longest: int = 5) -> tuple[int, int]:
    """Read a zigzag varint; return it and the position after it.

    Bits beyond 32 (or 64, for 10 bytes) are dropped. Other modules call this only for records that were found
    whole, so that the varint has an end.
    """
    if position < end and (byte := data[position]) < 0x80:  # most varints have one byte
        return (byte >> 1) ^ -(byte & 1), position + 1
    if position + 1 < end and (high := data[position + 1]) < 0x80:  # nearly all others have two bytes
        raw = byte & 0x7F | high << 7
        return (raw >> 1) ^ -(raw & 1), position + 2
    raw = shift = 0
    for at in range(position, min(position + longest, end)):
        byte = data[at]
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            raw &= 0xFFFFFFFF if longest == 5 else 0xFFFFFFFFFFFFFFFF
            return (raw >> 1) ^ -(raw & 1), at + 1
        shift += 7
    raise _Faulty(Fault.VARINT)


def _open(data: bytes | bytearray, position: int) -> tuple[int, int]:
    """Return the start (after the length) and the end of the record at `position`."""
    try:
        length, start = read_varint(data, position, len(data))
    except _Faulty:
        if len(data) - position < 5:
            raise _Faulty(Fault.CUT) from None
        raise
    if length < 0:
        raise _Faulty(Fault.LENGTH)
    if length > len(data) - start:
        raise _Faulty(Fault.CUT)
    return start, start + length


def _span(data: bytes | bytearray, position: int, end: int) -> tuple[int, int, int]:
    """Return the start and end of a field and the start of the next; an end before the start means null."""
    length, start = read_varint(data, position, end)
    if length < 0:
        return start, -1, start
    if length > end - start:
        raise _Faulty(Fault.FIELD)
    return start, start + length, start + length


def _read(data: bytes | bytearray, position: int, end: int) -> tuple[int, int, int, int, int, int, int, int]:
    """Read a record's timestamp delta, offset delta, spans of key and value, header count, and the position
    of the headers.
    """
    if position == end:
        raise _Faulty(Fault.FIELD)
    position += 1  # skip the unused attributes
    timestamp_delta, position = read_varint(data, position, end, longest=10)
    offset_delta, position = read_varint(data, position, end)
    key_start, key_end, position = _span(data, position, end)
    value_start, value_end, position = _span(data, position, end)
    headers, position = read_varint(data, position, end)
    if not 0 <= headers <= end - position:
        raise _Faulty(Fault.HEADER_COUNT)
    return timestamp_delta, offset_delta, key_start, key_end, value_start, value_end, headers, position


def _read_headers(data: bytes | bytearray, position: int, end: int, count: int) -> Headers:
    pairs = []
    for _ in range(count):
        start, stop, position = _span(data, position, end)
        if stop < start:
            raise _Faulty(Fault.HEADER_KEY)
        name = data[start:stop].decode(errors="replace")
        start, stop, position = _span(data, position, end)
        pairs.append((name, bytes(data[start:stop]) if stop >= start else None))
    if position != end:
        raise _Faulty(Fault.LEFT_OVER)
    return tuple(pairs)
