"""The newest offset of every key, in 24 bytes an entry (Kafka's SkimpyOffsetMap).

Keys are not stored, only their MD5, 128 bits: two keys that share them are taken for one, in Kafka too. The
table grows with what is put in, up to its bound.
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

    `latest` is the last offset that cleaning may judge by this map; whoever fills it keeps it up to date.
    """

    __slots__ = ("_limit", "_max_slots", "_slots", "latest", "size", "table")

    def __init__(self, max_bytes: int, load_factor: float) -> None:
        self._max_slots = _prime_up_to(max(max_bytes // ENTRY_BYTES, 2))
        self._limit = int(min(load_factor, 0.95) * self._max_slots)
        self.size = 0
        self.latest = MISSING
        self._slots = min(_SMALLEST, self._max_slots)
        self.table = _empty(self._slots)
        """The table for `sieve`; other code must not change it."""

    def put_batch(self, body: Buffer, count: int, base_offset: int, first_offset: int) -> bool:
        """Note the keys of the `count` records in a batch's uncompressed bytes, from `first_offset` on.
        False, and nothing is noted, if they may not fit. Raises RecordsDamaged.

        One batch always fits into an empty map, whatever its bound, so that cleaning gets on.
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
        """Note the keys of the plain batches of a chunk from `position` on, as `sieve.put_plain` does, and
        see to `latest`. Returns where it stopped.
        """
        room = self._capacity() - self.size
        position, added, last_offset = sieve.put_plain(
            self.table, crc32c, chunk, position, room, first_offset
        )
        self.size += added
        self.latest = max(self.latest, last_offset)
        return position

    def put_all(self, entries: Sequence[tuple[bytes, int]]) -> bool:
        """Note keys and offsets as they are. False, and nothing is noted, if they may not fit."""
        if not self._make_room(len(entries)):
            return False
        table = self.table
        for key, offset in entries:
            at, first, second = locate(table, key)
            self.size += not (table[at] or table[at + 1])
            table[at], table[at + 1], table[at + 2] = first, second, offset
        return True

    def get(self, key: bytes) -> int:
        """The newest offset of the key, or -1."""
        table = self.table
        at, _, _ = locate(table, key)
        return table[at + 2] if table[at] or table[at + 1] else MISSING

    def _capacity(self) -> int:
        """Number of keys that the table takes at its present size."""
        if self._slots == self._max_slots:
            return self._limit
        return int(self._slots * _COMFORTABLE)

    def _make_room(self, count: int) -> bool:
        """Whether `count` more keys fit, after growing to twice as many as far as the bound allows."""
        needed = self.size + count
        if needed > self._limit and self.size:
            return False
        if needed <= self._capacity():
            return True
        least = int(needed * 1.1) + 16  # primes are denser than that
        slots = _prime_up_to(max(min(int(2 * needed / _COMFORTABLE), self._max_slots), least))
        if slots > self._slots:
            table = _empty(slots)
            sieve.move(self.table, table)
            self.table, self._slots = table, slots
        return True


def damage(base_offset: int, count: int) -> RecordsDamaged:
    """Return the exception for a batch that has not as many whole records as its header counts."""
    return RecordsDamaged(f"the batch at offset {base_offset} does not hold {count} whole records")


def _empty(slots: int) -> array[int]:
    return array("Q", [0]) * (WIDTH * slots)


def _prime_up_to(number: int) -> int:
    """The largest prime that is not above `number`, so that any step reaches every slot."""
    while number > 2 and any(number % divisor == 0 for divisor in range(2, int(number**0.5) + 1)):
        number -= 1
    return number
