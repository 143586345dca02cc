"""The pure-Python implementation of `_native.c`, which the log cleaner uses through `sieve`.

The offset map is an array of unsigned 64-bit numbers, three per entry: the two halves of the key's MD5, and
the offset. Open addressing with double hashing over a prime number of entries; an entry without a digest is
empty. The caller keeps at least one entry empty, where a search ends.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from kcompat.records._python import read_varint
from kcompat.records.record import append_varint
from kcompat.records.scanning import read

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Iterator

    from kcompat.records._python import Buffer, Fields

    Table = array[int]

WIDTH: Final = 3
"""Numbers per entry."""

_SIGN: Final = 1 << 63
_DIGEST = struct.Struct("<QQ").unpack


def locate(table: Table, key: bytes) -> tuple[int, int, int]:
    """Find the entry of a key, or the empty entry where the key belongs.

    Returns the entry's index and the two halves of the key's digest.
    """
    import hashlib  # imported here because it loads OpenSSL, some MB of memory

    first, second = _DIGEST(hashlib.md5(key, usedforsecurity=False).digest())
    return _seek(table, first, second), first, second


def _seek(table: Table, first: int, second: int) -> int:
    slots = len(table) // WIDTH
    slot = first % slots
    while True:
        at = WIDTH * slot
        found = table[at]
        if (found == first and table[at + 1] == second) or not (found or table[at + 1]):
            return at
        slot = (slot + 1 + second % (slots - 1)) % slots


def move(old: Table, new: Table, /) -> None:
    """Copy the entries of one table into another, which has room for them and none of their keys."""
    for at in range(0, len(old), WIDTH):
        first, second, offset = old[at : at + WIDTH]
        if first or second:
            to = _seek(new, first, second)
            new[to], new[to + 1], new[to + 2] = first, second, offset


def put(table: Table, body: Buffer, count: int, base_offset: int, first_offset: int, /) -> int:
    """Put the keys of a batch's records from `first_offset` on into the table, with their offsets.

    Returns the number of keys that are new, or -1 unless the body is `count` whole records.
    """
    records = _read(body, count, base_offset, 0)
    if records is None:
        return -1
    added = 0
    for offset, _, key, _, _ in records:
        if key is not None and offset >= first_offset:
            at, first, second = locate(table, key)
            added += not (table[at] or table[at + 1])
            table[at], table[at + 1], table[at + 2] = first, second, offset
    return added


def keep(
    table: Table,
    body: Buffer,
    count: int,
    base_offset: int,
    base_timestamp: int,
    latest: int,
    keeps_tombstones: int,
    /,
) -> tuple[int, int, int, Buffer] | None:
    """Filter the records of a batch: keep the newest record of each key, and every record above `latest`.

    Tombstones are dropped unless `keeps_tombstones`. Returns the number of records kept, their largest
    timestamp (ms), how many of them have no value, and their bytes (`body` itself if all are kept); None
    unless the body is `count` whole records.
    """
    data = bytes(body)
    records = _read(data, count, base_offset, base_timestamp)
    if records is None:
        return None
    kept = tombstones = 0
    newest = -_SIGN
    out = bytearray()
    for (offset, timestamp, key, value, _), (start, _, end) in zip(records, _spans(data), strict=True):
        if offset <= latest:
            if key is None or (value is None and not keeps_tombstones):
                continue
            at, _, _ = locate(table, key)
            if (table[at] or table[at + 1]) and offset < table[at + 2]:
                continue
        kept += 1
        newest = max(newest, timestamp)
        tombstones += value is None
        out += data[start:end]
    return kept, newest, tombstones, body if len(out) == len(data) else bytes(out)


def rebase(body: Buffer, count: int, shift: int, /) -> bytes | None:
    """Return the records with `shift` (ms) added to each timestamp delta; None unless they are `count` whole
    records.
    """
    data, out = bytes(body), bytearray()
    if _read(data, count, 0, 0) is None:
        return None
    for _, start, end in _spans(data):
        old, behind = read_varint(data, start + 1, end, longest=10)
        delta = bytearray()
        append_varint(delta, (old + shift + _SIGN) % (2 * _SIGN) - _SIGN)
        append_varint(out, 1 + len(delta) + end - behind)
        out += b"\0" + delta + data[behind:end]
    return bytes(out)


def put_plain(
    table: Table,
    crc: Callable[[memoryview], int],
    chunk: memoryview,
    position: int,
    room: int,
    first_offset: int,
    /,
) -> tuple[int, int, int]:
    """Put the keys of the plain batches of a chunk into the table, from `position` on.

    A plain batch is whole, has the right CRC, and is neither compressed nor in a transaction. The walk ends
    at the first batch that is not plain, or that has more records than there is `room` for new keys. Returns
    the position of that batch, the number of new keys, and the last offset that was seen (-1 without any).
    This implementation handles one batch per call: several at once are no faster in Python.
    """
    del table, crc, chunk, room, first_offset
    return position, 0, -1


def keep_plain(
    table: Table,
    crc: Callable[[memoryview], int],
    chunk: memoryview,
    position: int,
    latest: int,
    now_ms: int,
    upper_offset: int,
    /,
) -> tuple[int, int, int, bytes, list[tuple[int, int, int]]]:
    """Filter the records of the plain batches of a chunk, from `position` on, by the rules of `keep`.

    The walk ends at the first batch that is not plain (`put_plain`), needs a delete horizon, or would be
    emptied while its header may have to be kept. Returns the position of that batch, the numbers of records
    read and kept, the bytes of the kept batches, and the size, last offset and largest timestamp of each.
    This implementation handles one batch per call.
    """
    del table, crc, chunk, latest, now_ms, upper_offset
    return position, 0, 0, b"", []


def _read(body: Buffer, count: int, base_offset: int, base_timestamp: int) -> list[Fields] | None:
    records, _, fault = read(body, 0, count + 1, base_offset, base_timestamp)
    return None if fault or len(records) != count else records


def _spans(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield for each record its start, the position after its length prefix, and its end."""
    position, size = 0, len(data)
    while position < size:
        length, start = read_varint(data, position, size)
        yield position, start, start + length
        position = start + length
