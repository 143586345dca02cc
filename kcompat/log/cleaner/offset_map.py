"""The newest offset of every key, in 24 bytes an entry (Kafka's SkimpyOffsetMap).

Keys are not stored, only their MD5, 128 bits: two keys that share them are taken for one, in Kafka too. A
dict of digests would take about 180 bytes a key and is no faster. The table grows with what is put in, up to
its bound.
"""

from __future__ import annotations

import hashlib
import struct
from array import array
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

ENTRY_BYTES: Final = 24
MISSING: Final = -1
_SMALLEST: Final = 1021
_COMFORTABLE: Final = 0.66
_DIGEST = struct.Struct("<QQ").unpack


class OffsetMap:
    """An open-addressing table of at most `max_bytes`, filled up to `load_factor`.

    `latest` is the last offset that cleaning may judge by this map; whoever fills it keeps it up to date.
    """

    __slots__ = ("_high", "_limit", "_low", "_max_slots", "_offsets", "_slots", "latest", "size")

    def __init__(self, max_bytes: int, load_factor: float) -> None:
        self._max_slots = _prime_up_to(max(max_bytes // ENTRY_BYTES, 2))
        self._limit = int(min(load_factor, 0.95) * self._max_slots)
        self.size = 0
        self.latest = MISSING
        self._allocate(min(_SMALLEST, self._max_slots))

    def _allocate(self, slots: int) -> None:
        self._slots = slots
        empty = bytes(8 * slots)
        self._high, self._low, self._offsets = array("Q", empty), array("Q", empty), array("q", empty)

    def put_all(self, entries: Sequence[tuple[bytes, int]]) -> bool:
        """Note the keys and offsets of one batch. False, and nothing is noted, if they may not fit.

        One batch always fits into an empty map, whatever its bound, so that cleaning gets on.
        """
        needed = self.size + len(entries)
        if needed > self._limit and self.size:
            return False
        if needed > self._slots * _COMFORTABLE:
            self._grow(needed)
        high, low, offsets, slots = self._high, self._low, self._offsets, self._slots
        md5 = hashlib.md5
        for key, offset in entries:
            first, second = _DIGEST(md5(key, usedforsecurity=False).digest())
            slot = first % slots
            while (found := high[slot]) != first or low[slot] != second:
                if not found and not low[slot]:
                    high[slot], low[slot] = first, second
                    self.size += 1
                    break
                slot = (slot + 1 + second % (slots - 1)) % slots
            offsets[slot] = offset
        return True

    def get(self, key: bytes) -> int:
        """The newest offset of the key, or -1."""
        first, second = _DIGEST(hashlib.md5(key, usedforsecurity=False).digest())
        high, low, slots = self._high, self._low, self._slots
        slot = first % slots
        while (found := high[slot]) != first or low[slot] != second:
            if not found and not low[slot]:
                return MISSING
            slot = (slot + 1 + second % (slots - 1)) % slots
        found_offset: int = self._offsets[slot]
        return found_offset

    def _grow(self, needed: int) -> None:
        """Make room for twice as many, as far as the bound allows."""
        if self._slots == self._max_slots and needed <= self._limit:
            return
        least = int(needed * 1.1) + 16  # primes are denser than that
        slots = _prime_up_to(max(min(int(2 * needed / _COMFORTABLE), self._max_slots), least))
        if slots <= self._slots:
            return
        old = zip(self._high, self._low, self._offsets, strict=True)
        self._allocate(slots)
        high, low, offsets = self._high, self._low, self._offsets
        for first, second, offset in old:
            if first or second:
                slot = first % slots
                while high[slot] or low[slot]:
                    slot = (slot + 1 + second % (slots - 1)) % slots
                high[slot], low[slot], offsets[slot] = first, second, offset


def _prime_up_to(number: int) -> int:
    """The largest prime that is not above `number`, so that any step reaches every slot."""
    while number > 2 and any(number % divisor == 0 for divisor in range(2, int(number**0.5) + 1)):
        number -= 1
    return number
