"""The records of one uncompressed batch: the one place where cleaning looks at records.

The scanner of `kcompat.records.scanning` does it, natively where it was built.
"""

from __future__ import annotations

from typing import Final

from kcompat.records.errors import RecordsDamaged
from kcompat.records.record import read_varint
from kcompat.records.scanning import read

Span = tuple[int, int, int, int, bytes | None, bool]
"""One record: where it starts (with its length), its end, timestamp delta, offset delta, key, and whether it
has a value. A plain tuple, since it is made for every record of a log.
"""

START: Final = 0
END: Final = 1
TIMESTAMP_DELTA: Final = 2
HAS_VALUE: Final = 5


def keys(body: bytes, count: int, base_offset: int) -> list[tuple[bytes | None, int]]:
    """Key and offset of the `count` records that the header announces; else RecordsDamaged."""
    records, _, fault = read(body, 0, count + 1, base_offset, 0)
    if fault or len(records) != count:
        raise _damage(len(records), count)
    return [(key, offset) for offset, _, key, _, _ in records]


def split(body: bytes, count: int) -> list[Span]:
    """The spans of the `count` records that the header announces; RecordsDamaged unless they are there."""
    spans: list[Span] = []
    add = spans.append
    position, size = 0, len(body)
    while position < size:
        records, end, fault = read(body, position, 1, 0, 0)
        if fault:
            raise _damage(len(spans), count)
        offset_delta, timestamp_delta, key, value, _ = records[0]
        add((position, end, timestamp_delta, offset_delta, key, value is not None))
        position = end
    if len(spans) != count:
        raise _damage(len(spans), count)
    return spans


def behind_timestamp(body: bytes, span: Span) -> int:
    """Where a record goes on after its timestamp."""
    _, position = read_varint(body, span[START])
    return read_varint(body, position + 1, max_bytes=10)[1]


def _damage(found: int, count: int) -> RecordsDamaged:
    return RecordsDamaged(f"{found} whole records where the header counts {count}")
