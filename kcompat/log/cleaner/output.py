"""Writing a cleaned segment as `.cleaned` files, which are complete and synced before they are reported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.log.index import OffsetIndex, TimeIndex
from kcompat.log.names import CLEANED, INDEX, LOG, SEGMENT_SUFFIXES, TIME_INDEX, TXN_INDEX, segment_name
from kcompat.log.segment import NO_TIMESTAMP
from kcompat.log.txn_index import TransactionIndex

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.log.cleaner.batches import Buffer
    from kcompat.log.cleaner.job import CleanJob
    from kcompat.log.files import Files
    from kcompat.log.txn_index import AbortedTransaction

_BUFFER: Final = 1 << 20


class CleanedSegment:
    """A segment being written with its indexes, beside the segments that it will replace.

    OSError passes through.
    """

    def __init__(self, files: Files, job: CleanJob, base_offset: int) -> None:
        path = f"{job.directory}/{segment_name(base_offset, '')}"
        names = {suffix: path + suffix + CLEANED for suffix in SEGMENT_SUFFIXES}
        files.remove(names.values())
        self._files = files
        self._names = names
        self._file = files.open(names[LOG])
        self._interval = job.index_interval_bytes
        self._offset_index = OffsetIndex(files, names[INDEX], base_offset, job.segment_index_bytes)
        self._time_index = TimeIndex(files, names[TIME_INDEX], base_offset, job.segment_index_bytes)
        self._txn_index = TransactionIndex(files, names[TXN_INDEX])
        self._buffer = bytearray()
        self._written = 0
        self._since_index = 0
        self._newest = (NO_TIMESTAMP, base_offset)

    @property
    def size(self) -> int:
        """Bytes written to the log file so far."""
        return self._written + len(self._buffer)

    def append(self, data: Buffer, notes: Iterable[tuple[int, int, int]]) -> None:
        """Append batches; `notes` has the size, last offset and largest timestamp of each.

        Index entries follow the rules of an append.
        """
        position = self.size
        for size, last_offset, timestamp in notes:
            if timestamp > self._newest[0]:
                self._newest = (timestamp, last_offset)
            if self._since_index > self._interval:
                self._since_index = 0
                self._offset_index.append(last_offset, position)
                self._index_time()
            self._since_index += size
            position += size
        self._buffer += data
        if len(self._buffer) >= _BUFFER:
            self._write()

    def append_aborted(self, entry: AbortedTransaction) -> None:
        """Add an entry to the transaction index."""
        self._txn_index.append(entry)

    def _index_time(self) -> None:
        if self._newest[0] != NO_TIMESTAMP:
            self._time_index.append(*self._newest)

    def _write(self) -> None:
        self._files.write_all(self._file, self._buffer, self._written)
        self._written += len(self._buffer)
        self._buffer = bytearray()

    def finish(self, modified_ms: int) -> None:
        """Write the remaining data, sync all files, and set the log file's modification time."""
        self._write()
        self._index_time()
        self._offset_index.flush()
        self._time_index.flush()
        for name in self._names.values():
            if self._files.exists(name):
                self._files.sync(self._files.open_existing(name))
        self._files.set_modified_ms(self._names[LOG], modified_ms)
