"""One segment: a file of batches with its indexes (LogSegment)."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from kcompat.log.files import FileRange, pread_all
from kcompat.log.index import OffsetIndex, TimeIndex
from kcompat.log.kept_files import forget, open_kept
from kcompat.log.names import DELETED, INDEX, LOG, SEGMENT_SUFFIXES, TIME_INDEX, TXN_INDEX, segment_name
from kcompat.log.scan import newest_timestamp, walk, walk_headers
from kcompat.log.txn_index import TransactionIndex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.log.config import LogConfig
    from kcompat.log.files import Files, OpenFile
    from kcompat.records.batch import BatchHeader

NO_TIMESTAMP: Final = -1
MAX_RELATIVE_OFFSET: Final = 2**31 - 1
MAX_OFFSET: Final = 2**63 - 1
_TAIL_LENGTH: Final = 1024
_HALF_TAIL: Final = _TAIL_LENGTH // 2


class Segment:
    """Batches from `base_offset` on, in one file that is created by the first append.

    The boundaries of the newest batches are remembered, so that reading the tail, which is what consumers do,
    needs neither index nor file: `_tail_last[i]` is the last offset of the batch at `_tail_positions[i]`, and
    all boundaries from offset `_tail_from` on are known.
    """

    __slots__ = (
        "__weakref__",
        "_file",
        "_files",
        "_index_interval",
        "_since_index",
        "_size_limit",
        "_tail_from",
        "_tail_last",
        "_tail_positions",
        "base_offset",
        "config",
        "created_ms",
        "first_timestamp",
        "is_active",
        "max_timestamp",
        "max_timestamp_offset",
        "offset_index",
        "path",
        "size",
        "time_index",
        "txn_index",
        "wait_limit_ms",
    )

    def __init__(
        self, files: Files, directory: str, base_offset: int, config: LogConfig, created_ms: int
    ) -> None:
        path = f"{directory}/{segment_name(base_offset, '')}"
        self._files = files
        self.path = path
        self.base_offset = base_offset
        self.created_ms = created_ms
        self.is_active = True
        self.size = 0
        self.first_timestamp: int | None = None
        self.max_timestamp = NO_TIMESTAMP
        self.max_timestamp_offset = base_offset
        self.offset_index = OffsetIndex(files, path + INDEX, base_offset, config.segment_index_bytes)
        self.time_index = TimeIndex(files, path + TIME_INDEX, base_offset, config.segment_index_bytes)
        self.txn_index = TransactionIndex(files, path + TXN_INDEX)
        self.configure(config)
        self._file: OpenFile | None = None
        self._since_index = 0
        self._tail_last = array("q")
        self._tail_positions = array("q")
        self._tail_from = base_offset

    def configure(self, config: LogConfig) -> None:
        """Apply a changed topic configuration."""
        self.config = config
        self._index_interval = config.index_interval_bytes
        self._size_limit = config.segment_bytes
        self.wait_limit_ms = config.roll_ms - config.jitter_ms_of(self.path)

    # -- files -----------------------------------------------------------------------------------------------

    @property
    def file(self) -> OpenFile:
        """The open log file: the active segment keeps it open, creating a missing one; others open it per
        reader.
        """
        return self._file or self._open()

    def _open(self) -> OpenFile:
        if not self.is_active:
            return self._files.open_existing(self.path + LOG)
        file = self._file = open_kept(self._files, self.path + LOG, self)
        if self.config.preallocate and self.size == 0:
            self._files.preallocate(file, self.config.segment_bytes)
        return file

    def create(self) -> None:
        """Create the log file now, since only its name stores the start offset of an empty log."""
        self._open()

    def adopt(self) -> None:
        """Use the existing log file of an earlier run; its indexes are then loaded or recovered."""
        self.is_active = False
        self.size = self._files.size(self.path + LOG) or 0
        self._forget_tail(MAX_OFFSET)

    def load(self) -> bool:
        """Load the indexes of an adopted log file; return False if one is missing, damaged, or does not fit
        the log.
        """
        if self.size == 0:
            self._reset_indexes()
            return True
        indexes = (self.offset_index, self.time_index)
        if not all(index.load() for index in indexes):
            return False
        if not self.txn_index.load():
            return False
        entry = self.time_index.last_entry()
        if entry is not None:
            self.max_timestamp, self.max_timestamp_offset = entry
        elif not self._has_no_timestamps():
            return False
        last = self.offset_index.last
        return last is None or last[1] < self.size

    def begin_recovery(self) -> None:
        """Drop the index entries; `recovered` then adds the batches one by one."""
        for index in (self.offset_index, self.time_index, self.txn_index):
            index.begin_rewrite()
        self._since_index = 0
        self.max_timestamp, self.max_timestamp_offset = NO_TIMESTAMP, self.base_offset

    def _reset_indexes(self) -> None:
        for index in (self.offset_index, self.time_index, self.txn_index):
            index.reset()

    def recovered(self, position: int, size: int, last_offset: int, timestamp: int) -> None:
        """Index a batch that recovery found whole."""
        if timestamp > self.max_timestamp:
            self.max_timestamp, self.max_timestamp_offset = timestamp, last_offset
        if self._since_index > self._index_interval:
            self._index(position, last_offset)
        self._since_index += size

    def end_recovery(self, size: int, *, is_last: bool) -> None:
        """Keep the first `size` bytes, which are whole batches, and write the rebuilt indexes.

        A segment that `is_last` and has no index files gets them from `retire`.
        """
        if size < self.size:
            self._files.truncate(self.file, size)
            self.size = size
        self.txn_index.end_rewrite()
        if not size:
            self._reset_indexes()
        elif not is_last or self.offset_index.has_file or self.time_index.has_file:
            self.flush_indexes()
            self.offset_index.end_rewrite()
            self.time_index.end_rewrite()

    @property
    def names(self) -> list[str]:
        """Paths of all files that this segment may have."""
        return [self.path + suffix for suffix in SEGMENT_SUFFIXES]

    def flush_indexes(self) -> None:
        """Add the newest timestamp to the time index and write both indexes (on roll and close)."""
        if self.size:
            if self.max_timestamp != NO_TIMESTAMP:
                self.time_index.append(self.max_timestamp, self.max_timestamp_offset)
            self.offset_index.flush()
            self.time_index.flush()

    def retire(self) -> None:
        """End the appends: write the indexes, give back unused room, drop the tail's boundaries."""
        self.flush_indexes()
        self.let_go()
        self.release()

    def sync(self) -> None:
        """Sync the log file, and the indexes if they are final. May run on the storage thread."""
        if self.size:
            self._files.sync(self._file or self._files.open_existing(self.path + LOG))
            for path in () if self.is_active else self.names[1:]:
                if self._files.exists(path):
                    self._files.sync(self._files.open_existing(path))

    def let_go(self) -> None:
        """Give back unused room and close the log file until the next use."""
        if (file := self._file) is not None and (self.config.preallocate or file.has_reserve):
            self._files.truncate(file, self.size)
        self._file = None

    def release(self) -> None:
        """Close the log file and drop the remembered boundaries; a reader opens the file again."""
        self.is_active = False
        self._file = None
        forget(self)
        self._forget_tail(MAX_OFFSET)

    def mark_deleted(self) -> list[str]:
        """Rename the files to `.deleted` and return their new paths, for unlinking later."""
        marked = []
        for path in self.names:
            if self._files.exists(path):
                self._files.rename(path, path + DELETED)
                marked.append(path + DELETED)
        return marked

    def largest_timestamp(self) -> int:
        """Return the largest timestamp of a record in ms; without timestamps, the time of the last write."""
        return self.max_timestamp if self.max_timestamp >= 0 else self._files.modified_ms(self.path + LOG)

    # -- writing ---------------------------------------------------------------------------------------------

    def write(self, data: memoryview, size: int) -> int:
        """Write `size` bytes of whole batches with one system call; return their position.

        The caller then calls `note` for each batch. A failed write changes nothing.
        """
        position = self.size
        file = self._file or self._open()
        if position + size > file.reserved:
            self._files.reserve(file, position)
        self._files.write_all(file, data, position)
        self.size = position + size
        return position

    def note(self, position: int, size: int, last_offset: int, timestamp: int) -> None:
        """Index a batch written at `position`, with this last offset and largest timestamp."""
        if timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
            self.max_timestamp_offset = last_offset
        if self.first_timestamp is None:
            self.first_timestamp = timestamp
        tail = self._tail_last
        tail.append(last_offset)
        self._tail_positions.append(position)
        if len(tail) >= _TAIL_LENGTH:
            self._tail_from = tail[_HALF_TAIL - 1] + 1
            del tail[:_HALF_TAIL], self._tail_positions[:_HALF_TAIL]
        if self._since_index > self._index_interval:
            self._index(position, last_offset)
        self._since_index += size

    def _index(self, position: int, last_offset: int) -> None:
        self._since_index = 0
        self.offset_index.append(last_offset, position)
        if self.max_timestamp != NO_TIMESTAMP:
            self.time_index.append(self.max_timestamp, self.max_timestamp_offset)

    def must_roll(self, size: int, last_offset: int, timestamp: int, now_ms: int) -> bool:
        """Return whether an append of `size` bytes needs a new segment: by size, time, full index or offset
        range.
        """
        if last_offset - self.base_offset > MAX_RELATIVE_OFFSET:
            return True
        if self.size == 0:
            return False
        first = self.first_timestamp
        if first is None:
            first = self.first_batch_ms()
        waited = timestamp - first if first >= 0 else now_ms - self.created_ms
        return (
            self.size + size > self._size_limit
            or waited > self.wait_limit_ms
            or self.offset_index.is_full
            or self.time_index.is_full
        )

    def first_batch_ms(self) -> int:
        """Return the largest timestamp of the first batch; -1 without one."""
        if self.first_timestamp is None and self.size:
            first = next(walk_headers(self.file, 0, self.size), None)
            self.first_timestamp = NO_TIMESTAMP if first is None else first[1].max_timestamp
        return NO_TIMESTAMP if self.first_timestamp is None else self.first_timestamp

    # -- reading ---------------------------------------------------------------------------------------------

    def locate(self, offset: int, file: OpenFile | None = None) -> tuple[int, int]:
        """Return position and size of the first batch whose last offset is >= `offset`; else (segment size,
        0).
        """
        if offset >= self._tail_from:
            at = bisect_left(self._tail_last, offset)
            positions = self._tail_positions
            if at >= len(positions):
                return self.size, 0
            position = positions[at]
            return position, (positions[at + 1] if at + 1 < len(positions) else self.size) - position
        for position, _, last_offset, size in walk(
            file or self.file, self.offset_index.position_for(offset), self.size
        ):
            if last_offset >= offset:
                return position, size
        return self.size, 0

    def read(
        self, offset: int, max_bytes: int, upper_offset: int | None, min_one_batch: bool
    ) -> FileRange | None:
        """Return the bytes from the batch that holds `offset` to before the one that holds `upper_offset`
        (None: the end).

        If the first batch is larger than `max_bytes`, it is returned whole with `min_one_batch`, else
        nothing.
        """
        if self.size == 0:
            return None
        file = self._file or self._open()
        start, first_size = self.locate(offset, file)
        end = self.size if upper_offset is None else self.locate(upper_offset, file)[0]
        if first_size > max_bytes:
            if not min_one_batch:
                return None
            max_bytes = first_size
        length = end - start
        if length > max_bytes:
            length = max_bytes
        return FileRange(file, start, length) if length > 0 else None

    def first_offset_beyond(self, position: int) -> int | None:
        """Return the next index entry's offset, above all batches before `position`; None without one."""
        return self.offset_index.offset_beyond(position)

    def headers(self, offset: int) -> Iterator[tuple[int, BatchHeader]]:
        """Yield position and header of each batch from the one that holds `offset` on."""
        if self.size == 0:
            return iter(())
        return walk_headers(self.file, self.locate(offset)[0], self.size)

    def read_at(self, position: int, length: int) -> bytes:
        """Return `length` bytes of the log file at `position`."""
        return pread_all(self.file, length, position)

    def read_next_offset(self) -> int:
        """Return the offset after the last batch, found from the last index entry on."""
        if self.size == 0:
            return self.base_offset
        last = self.offset_index.last
        next_offset = self.base_offset
        for _, _, last_offset, _ in walk(self.file, last[1] if last else 0, self.size):
            next_offset = last_offset + 1
        return next_offset

    # -- cutting ---------------------------------------------------------------------------------------------

    def truncate_to(self, offset: int) -> None:
        """Remove the batches from the first whose last offset is >= `offset` on; the next append is at
        `offset`.
        """
        position, _ = self.locate(offset)
        if position < self.size:
            self._files.truncate(self.file, position)
            self.size = position
            self.offset_index.truncate_to(offset)
            self.time_index.truncate_to(offset)
            self.txn_index.truncate_to(offset)
            self._read_max_timestamp()
        self._since_index = 0
        self._forget_tail(offset)

    def reopen(self, next_offset: int) -> None:
        """Make this the active segment again; the next append is at `next_offset`."""
        self.is_active = True
        self._forget_tail(next_offset)

    def _read_max_timestamp(self) -> None:
        """Find the largest timestamp from the last time-index entry and the batches after it."""
        if self.size == 0:
            self.first_timestamp = None
        entry = self.time_index.last_entry()
        self.max_timestamp, self.max_timestamp_offset = entry or (NO_TIMESTAMP, self.base_offset)
        for _, header in self.headers(self.max_timestamp_offset):
            if newest_timestamp(header) > self.max_timestamp:
                self.max_timestamp, self.max_timestamp_offset = header.max_timestamp, header.last_offset

    def _has_no_timestamps(self) -> bool:
        headers = walk_headers(self.file, 0, self.size)
        return all(newest_timestamp(header) == NO_TIMESTAMP for _, header in headers)

    def _forget_tail(self, known_from: int) -> None:
        """Drop the remembered boundaries; later appends are known from offset `known_from` on."""
        del self._tail_last[:], self._tail_positions[:]
        self._tail_from = known_from
