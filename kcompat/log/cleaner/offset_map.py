"""The newest offset of every key, in 24 bytes per entry (Kafka's SkimpyOffsetMap).

A key is represented by its 128-bit MD5: two keys with the same digest count as one, as in Kafka. The table
grows with its content, up to its bound.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final

from kcompat.log.cleaner import sieve
from kcompat.log.cleaner._python import WIDTH, locate
from kcompat.records.checksum import crc32c
from kcompat.records.errors import RecordsDamaged
from kcompat.records.layout import SMALLEST_RECORD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.records._python import Buffer

ENTRY_BYTES: Final = 8 * WIDTH
MISSING: Final = -1
_SMALLEST: Final = 1021
_COMFORTABLE: Final = 0.66


class OffsetMap:
    """An open-addressing table of at most `max_bytes`, filled up to `load_factor`.

    `latest` is the last offset that cleaning may judge by this map; the code that fills the map keeps it up
    to date.
    """

    __slots__ = ("_limit", "_max_slots", "_slots", "latest", "size", "table")

    def __init__(self, max_bytes: int, load_factor: float) -> None:
        self._max_slots = _prime_up_to(max(max_bytes // ENTRY_BYTES, 2))
        self._limit = int(min(load_factor, 0.95) * self._max_slots)
        self.size = 0
        self.latest = MISSING
        self._slots = min(_SMALLEST, self._max_slots)
        self.table = _empty(self._slots)
        """The table for the functions of `sieve`; no other code changes it."""

    def put_batch(self, body: Buffer, count: int, base_offset: int, first_offset: int) -> bool:
        """Put the keys of the `count` records of a batch into the map, from `first_offset` on; `body` is
        uncompressed.

        Returns False and adds nothing if they may not fit. Raises RecordsDamaged. One batch always fits into
        an empty map, whatever its bound, so that every cleaning makes progress.
        """
        if not 0 <= count <= len(body) // SMALLEST_RECORD:
            raise damage(base_offset, count)
        if not self._make_room(count):
            return False
        added = sieve.put(self.table, body, count, base_offset, first_offset)
        if added < 0:
            raise damage(base_offset, count)
        self.size += added
        return True

    def put_plain(self, chunk: memoryview, position: int, first_offset: int) -> int:
        """Put the keys of the plain batches of a chunk into the map, from `position` on, and update `latest`.

        Returns the position of the first batch that `sieve.put_plain` does not handle.
        """
        room = self._capacity() - self.size
        position, added, last_offset = sieve.put_plain(
            self.table, crc32c, chunk, position, room, first_offset
        )
        self.size += added
        self.latest = max(self.latest, last_offset)
        return position

    def put_all(self, entries: Sequence[tuple[bytes, int]]) -> bool:
        """Put these keys and offsets into the map; return False and add nothing if they may not fit."""
        if not self._make_room(len(entries)):
            return False
        table = self.table
        for key, offset in entries:
            at, first, second = locate(table, key)
            self.size += not (table[at] or table[at + 1])
            table[at], table[at + 1], table[at + 2] = first, second, offset
        return True

    def get(self, key: bytes) -> int:
        """Return the newest offset of a key, or -1."""
        table = self.table
        at, _, _ = locate(table, key)
        return table[at + 2] if table[at] or table[at + 1] else MISSING

    def _capacity(self) -> int:
        """Return the number of keys that the table takes at its present size."""
        if self._slots == self._max_slots:
            return self._limit
        return int(self._slots * _COMFORTABLE)

    def _make_room(self, count: int) -> bool:
        """Grow the table within its bound so that `count` more keys fit; return whether they fit."""
        needed = self.size + count
        if needed > self._limit and self.size:
            return False
        if needed <= self._capacity():
            return True
        least = int(needed * 1.1) + 16  # a prime lies between `needed` and this number
        slots = _prime_up_to(max(min(int(2 * needed / _COMFORTABLE), self._max_slots), least))
        if slots > self._slots:
            table = _empty(slots)
            sieve.move(self.table, table)
            self.table, self._slots = table, slots
        return True


def damage(base_offset: int, count: int) -> RecordsDamaged:
    """Return the exception for a batch that does not have as many whole records as its header says."""
    return RecordsDamaged(f"the batch at offset {base_offset} does not hold {count} whole records")


def _empty(slots: int) -> array[int]:
    return array("Q", [0]) * (WIDTH * slots)


def _prime_up_to(number: int) -> int:
    """Return the largest prime that is at most `number`: with a prime size any step reaches every slot."""
    while number > 2 and any(number % divisor == 0 for divisor in range(2, int(number**0.5) + 1)):
        number -= 1
    return number
