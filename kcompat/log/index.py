"""The sparse indexes of a segment: offset -> position and timestamp -> offset (OffsetIndex, TimeIndex).

Entries are written in groups: the newest few hundred of the segment being written stay in memory, the others
are found by binary search in the file. So memory does not grow with the log, an append costs no system call
for its index, and a segment too small to need an index has no index file until it is rolled or closed. A
killed process loses only entries that recovery rebuilds from the batches.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from kcompat.log.errors import OUT_OF_SPACE
from kcompat.log.files import pread_all

if TYPE_CHECKING:
    from kcompat.log.files import Files, OpenFile

Entry = tuple[int, int]

_GROUP: Final = 256
_WINDOW: Final = 512
_FIRST, _SECOND = 0, 1
_OFFSET_ENTRY: Final = struct.Struct(">ii")
_TIME_ENTRY: Final = struct.Struct(">qi")
_COLUMN = (itemgetter(0), itemgetter(1))


class _IndexFile:
    """File of number pairs, both columns ascending: `_stored` of them in the file, the newest in `_recent`.

    No descriptor is kept open: each lookup in the file opens it.
    """

    __slots__ = ("_entry", "_files", "_limit", "_recent", "_stored", "base_offset", "is_full", "last", "path")

    def __init__(self, files: Files, path: str, base_offset: int, limit: int, entry: struct.Struct) -> None:
        self.path = path
        self.base_offset = base_offset
        self.last: Entry | None = None
        self.is_full = limit <= 0
        self._entry = entry
        self._limit = limit
        self._files = files
        self._recent: list[Entry] = []
        self._stored = 0

    def __len__(self) -> int:
        return self._stored + len(self._recent)

    @property
    def room(self) -> int:
        """Number of entries that can still be added."""
        return self._limit - len(self)

    @property
    def size(self) -> int:
        """Size of the file in bytes once all entries are written."""
        return len(self) * self._entry.size

    @property
    def has_file(self) -> bool:
        """Whether the file exists, whatever its content."""
        return self._files.exists(self.path)

    def _append(self, entry: Entry) -> None:
        self._recent.append(entry)
        self.last = entry
        self.is_full = len(self) >= self._limit
        if len(self._recent) >= _GROUP:
            try:
                self.flush()
            except OSError as error:
                # The batch of this entry is in the log already. The next entry tries again.
                if error.errno not in OUT_OF_SPACE:
                    raise

    def flush(self) -> None:
        """Write the entries that are only in memory to the file, which is created if it is missing."""
        file = self._files.open(self.path)
        if self._recent:
            data = b"".join(self._entry.pack(*entry) for entry in self._recent)
            self._files.write_all(file, data, self._stored * self._entry.size)
            self._stored += len(self._recent)
            self._recent.clear()

    def reset(self) -> None:
        """Drop all entries and remove the file."""
        self.begin_rewrite()
        self._files.remove([self.path])

    def begin_rewrite(self) -> None:
        """Drop all entries; later appends overwrite the content of the file."""
        self._stored = 0
        self._recent.clear()
        self.last = None
        self.is_full = self._limit <= 0

    def end_rewrite(self) -> None:
        """Cut off the rest of the old entries, once all new ones are flushed."""
        if self._files.size(self.path) != self.size:
            self._files.truncate(self._files.open(self.path), self.size)

    def load(self) -> bool:
        """Load the entries of the file without the zeros that Kafka preallocates; return False if it is
        missing or unsound.
        """
        size = self._files.size(self.path)
        if size is None:
            return False
        self._stored = size // self._entry.size
        if self._stored:
            self.last = self._get(self._stored - 1)
            if not any(self.last):
                self._truncate(self._count_filled())
        self.is_full = self._stored >= self._limit
        return size % self._entry.size == 0 and (self.last is None or min(self.last) >= 0)

    def _count_filled(self) -> int:
        """Count the entries before the preallocated zeros."""
        file = self._files.open_existing(self.path)
        low, high = 0, self._stored
        while low < high:
            middle = (low + high) // 2
            if any(self._read(file, middle)):
                low = middle + 1
            else:
                high = middle
        return low

    def _truncate(self, count: int) -> None:
        """Drop all entries after the first `count`."""
        if count >= self._stored:
            del self._recent[count - self._stored :]
        else:
            self._recent.clear()
            self._stored = count
            self._files.truncate(self._files.open(self.path), count * self._entry.size)
        self.last = self._get(count - 1) if count else None
        self.is_full = count >= self._limit

    def _get(self, position: int) -> Entry:
        if position >= self._stored:
            return self._recent[position - self._stored]
        return self._read(self._files.open_existing(self.path), position)

    def _read(self, file: OpenFile, position: int) -> Entry:
        size = self._entry.size
        first, second = self._entry.unpack(pread_all(file, size, position * size))
        return first, second

    def _count_up_to(self, column: int, target: int) -> int:
        """Count the entries whose value in `column` is at most `target`."""
        key = _COLUMN[column]
        recent = self._recent
        if recent and recent[0][column] <= target:
            return self._stored + bisect_right(recent, target, key=key)
        low, high = 0, self._stored
        if low == high:
            return 0
        file = self._files.open_existing(self.path)
        size, unpack = self._entry.size, self._entry.unpack_from
        window, first = b"", high
        while low < high:
            middle = (low + high) // 2
            if not window and high - low <= _WINDOW:
                window, first = pread_all(file, (high - low) * size, low * size), low
            entry = unpack(window, (middle - first) * size) if window else self._read(file, middle)
            if entry[column] <= target:
                low = middle + 1
            else:
                high = middle
        return low


class OffsetIndex(_IndexFile):
    """8-byte entries: int32 last offset of the indexed append - base offset, int32 position where that append
    starts.
    """

    __slots__ = ()

    def __init__(self, files: Files, path: str, base_offset: int, max_bytes: int) -> None:
        super().__init__(files, path, base_offset, max_bytes // _OFFSET_ENTRY.size, _OFFSET_ENTRY)

    def append(self, offset: int, position: int) -> None:
        """Add an entry: the append whose last offset is `offset` starts at `position`."""
        self._append((offset - self.base_offset, position))

    def position_for(self, offset: int) -> int:
        """Return a position at or before the batch that holds `offset`: the greatest entry's <= `offset`,
        else 0.
        """
        found = self._count_up_to(_FIRST, offset - self.base_offset)
        return self._get(found - 1)[1] if found else 0

    def offset_beyond(self, position: int) -> int | None:
        """Return the offset of the first entry at or after `position`; None if there is none."""
        found = self._count_up_to(_SECOND, position - 1)
        return self._get(found)[0] + self.base_offset if found < len(self) else None

    def truncate_to(self, offset: int) -> None:
        """Drop entries at or above `offset`."""
        self._truncate(self._count_up_to(_FIRST, offset - 1 - self.base_offset))


class TimeIndex(_IndexFile):
    """12-byte entries: int64 largest timestamp so far, int32 offset of it - base offset."""

    __slots__ = ()

    def __init__(self, files: Files, path: str, base_offset: int, max_bytes: int) -> None:
        # one entry is reserved for the one that rolling appends
        super().__init__(files, path, base_offset, max_bytes // _TIME_ENTRY.size - 1, _TIME_ENTRY)

    def append(self, timestamp: int, offset: int) -> None:
        """Add an entry: no record up to `offset` is newer than `timestamp`.

        Ignored unless it is newer than the last entry.
        """
        if self.last is None or timestamp > self.last[0]:
            self._append((timestamp, offset - self.base_offset))

    def offset_for(self, timestamp: int) -> int:
        """Return an offset after which every record newer than `timestamp` lies, or the base offset."""
        found = self._count_up_to(_FIRST, timestamp)
        return self._get(found - 1)[1] + self.base_offset if found else self.base_offset

    def last_entry(self) -> tuple[int, int] | None:
        """Return the last entry: the largest indexed timestamp and its offset."""
        return None if self.last is None else (self.last[0], self.last[1] + self.base_offset)

    def truncate_to(self, offset: int) -> None:
        """Drop entries whose offset is at or above `offset`."""
        self._truncate(self._count_up_to(_SECOND, offset - 1 - self.base_offset))
