"""Checking and reading the records of a batch one by one, under any codec.

`_native` does it where it was built, else the pure-Python implementation `_python`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat import capabilities
from kcompat.records._python import NEVER, Fault
from kcompat.records.compression import decompress
from kcompat.records.errors import RecordsDamaged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcompat.records._python import Buffer, Fields
    from kcompat.records.batch import BatchHeader

__all__ = ["INSPECTS_CRC", "check_records", "damage", "inspect", "read", "read_records"]

if capabilities.native("kcompat.records._native"):
    from kcompat.records._native import checks_crc, inspect, read, scan
else:
    from kcompat.records._python import checks_crc, inspect, read, scan

INSPECTS_CRC = checks_crc()
"""Whether `inspect` checks the CRC; if not, its caller has to."""

_SLICE = 500  # number of records that a reader holds in memory

_COMPLAINTS = {
    Fault.CUT: "is cut short",
    Fault.LENGTH: "has a negative length",
    Fault.VARINT: "has a varint without an end",
    Fault.FIELD: "has a field that does not fit into it",
    Fault.HEADER_COUNT: "counts headers that do not fit into it",
    Fault.HEADER_KEY: "has a header without a key",
    Fault.LEFT_OVER: "has bytes left over",
    Fault.OFFSET_DELTA: "has an offset delta that is not its index",
}


def check_records(header: BatchHeader, payload: memoryview, max_message_bytes: int) -> tuple[int, int, int]:
    """Check every record of a produced batch; `payload` is the part after the header.

    Returns the largest timestamp (at least -1), the smallest other than -1 (2^63 - 1 without any), and the
    number of records without key. Raises `RecordsDamaged` at the first bad record, or unless there are as
    many as the header counts, at offset deltas 0, 1, 2, ...; no more are unpacked than that.
    """
    if codec := header.codec:
        chunks = decompress(codec, payload, max_message_bytes)
        count, fault, newest, oldest, keyless = _scan_chunks(
            chunks, header.base_timestamp, header.record_count
        )
    else:
        count, _, fault, newest, oldest, keyless = scan(payload, 0, header.base_timestamp)
    if fault:
        raise damage(count, fault)
    if count != header.record_count:
        raise RecordsDamaged(f"{count} records where the header counts {header.record_count}")
    return newest, oldest, keyless


def _scan_chunks(chunks: Iterable[bytes], base_timestamp: int, most: int) -> tuple[int, int, int, int, int]:
    """Scan the records of all chunks and return the sums of the results of `scan`; stop after a fault or
    `most` records.
    """
    count = keyless = 0
    newest, oldest, fault = -1, NEVER, int(Fault.WHOLE)
    pending = bytearray()
    for chunk in chunks:
        pending += chunk
        found, end, fault, late, early, nulls = scan(pending, count, base_timestamp)
        count += found
        keyless += nulls
        newest, oldest = max(newest, late), min(oldest, early)
        del pending[:end]
        if fault > Fault.CUT or count > most:
            break
    return count, fault, newest, oldest, keyless


def read_records(chunks: Iterable[Buffer], base_offset: int, base_timestamp: int) -> Iterator[Fields]:
    """Yield the fields of each record in a batch's uncompressed bytes, which may come in any pieces.

    At most one piece, one record and 500 results are in memory. Raises `RecordsDamaged` at the first bad
    record.
    """
    count = 0
    pending = bytearray()
    for chunk in chunks:
        pending += chunk
        position = 0
        fault = int(Fault.WHOLE)
        while not fault and position < len(pending):
            records, position, fault = read(pending, position, _SLICE, base_offset, base_timestamp)
            count += len(records)
            yield from records
        if fault > Fault.CUT:
            raise damage(count, fault)
        del pending[:position]
    if pending:
        raise damage(count, Fault.CUT)


def damage(index: int, fault: int) -> RecordsDamaged:
    """Return the exception for a faulty record; its text has the record's index and the fault."""
    return RecordsDamaged(f"the record at index {index} {_COMPLAINTS[Fault(fault)]}")
