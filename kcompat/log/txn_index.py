"""The transaction index of a segment: the aborted transactions whose marker is in the segment
(TransactionIndex).

Entries of 34 bytes, big-endian: int16 version 0, int64 producer id, first offset, last offset (the marker's),
and the last stable offset at that time. Created with the first entry.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

import msgspec

from kcompat.log.files import pread_all

if TYPE_CHECKING:
    from kcompat.log.files import Files

_ENTRY: Final = struct.Struct(">hqqqq")
_VERSION: Final = 0


class AbortedTransaction(msgspec.Struct, frozen=True):
    """One aborted transaction in one partition; offsets are inclusive."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    """Aborted transactions in the order of their markers. `count` entries are in the file; none are kept in
    memory.
    """

    __slots__ = ("_files", "_rewritten", "count", "path")

    def __init__(self, files: Files, path: str) -> None:
        self._files = files
        self.path = path
        self.count = 0
        self._rewritten: bytearray | None = None
        """Entries found so far while the index is rebuilt; None otherwise."""

    def load(self) -> bool:
        """Count the entries of an existing file; return False if it is damaged."""
        size = self._files.size(self.path) or 0
        self.count = size // _ENTRY.size
        if size % _ENTRY.size:
            return False
        entries = self.entries()
        offsets = [entry.last_offset for entry in entries]
        return len(entries) == self.count and offsets == sorted(set(offsets))

    def append(self, entry: AbortedTransaction) -> None:
        """Add the transaction of the abort marker that was just appended."""
        data = _ENTRY.pack(
            _VERSION, entry.producer_id, entry.first_offset, entry.last_offset, entry.last_stable_offset
        )
        if self._rewritten is None:
            file = self._files.open(self.path)
            self._files.write_all(file, data, self.count * _ENTRY.size)
        else:
            self._rewritten += data
        self.count += 1

    def begin_rewrite(self) -> None:
        """Drop all entries; `end_rewrite` writes those that are appended from now on."""
        self._rewritten = bytearray()
        self.count = 0

    def end_rewrite(self) -> None:
        """Write the entries appended since `begin_rewrite` to the file and sync it.

        The segment may lie below the recovery point, so that no later recovery reads it; and an index that
        lost its entries cannot be told from one that never had any.
        """
        data, self._rewritten = self._rewritten, None
        assert data is not None, "it has begun"
        if data == (self._files.read_file(self.path) if self._files.exists(self.path) else b""):
            return
        if data:
            self._files.replace_file(self.path, bytes(data), sync=True)
        else:
            self._files.remove([self.path])
            self._files.sync_directory(self.path.rpartition("/")[0])

    def entries(self, after: int = 0) -> list[AbortedTransaction]:
        """Return the entries from number `after` on."""
        if after >= self.count:
            return []
        file = self._files.open_existing(self.path)
        data = pread_all(file, (self.count - after) * _ENTRY.size, after * _ENTRY.size)
        return [
            AbortedTransaction(*fields)
            for version, *fields in _ENTRY.iter_unpack(data)
            if version == _VERSION
        ]

    def overlapping(self, first: int, upper: int) -> tuple[list[AbortedTransaction], bool]:
        """Return the transactions with data in [first, upper), and whether later segments have no more of
        them.
        """
        found: list[AbortedTransaction] = []
        for entry in self.entries():
            if entry.last_offset >= first and entry.first_offset < upper:
                found.append(entry)
            if entry.last_stable_offset >= upper:
                return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """Drop transactions whose marker lies at or above `offset`."""
        keep = sum(entry.last_offset < offset for entry in self.entries())
        if keep < self.count:
            self.count = keep
            self._files.truncate(self._files.open(self.path), keep * _ENTRY.size)

    def reset(self) -> None:
        """Drop all entries and remove the file."""
        self._rewritten = None
        self.count = 0
        self._files.remove([self.path])
