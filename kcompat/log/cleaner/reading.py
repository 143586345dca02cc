"""Reading a segment that is to be cleaned, in chunks that contain whole batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.log.files import pread_all
from kcompat.log.scan import is_intact
from kcompat.records.errors import RecordsDamaged
from kcompat.records.layout import LENGTH_AT, LOG_OVERHEAD, SMALLEST_MESSAGE

if TYPE_CHECKING:
    from kcompat.log.files import OpenFile

_CHUNK_BYTES: Final = 1 << 20
_SMALLEST_BATCH: Final = LOG_OVERHEAD + SMALLEST_MESSAGE


class SegmentReader:
    """Reader of the first `end` bytes of a log file called `name`, which must consist of whole batches.

    `chunk` is a piece of the file, and `at` the position in it where the next batch begins; a caller that
    processes batches in the chunk moves `at` behind them. The chunk has `chunk_bytes`, or one batch that is
    longer.
    """

    __slots__ = ("_chunk_bytes", "_chunk_start", "_end", "_file", "_name", "at", "chunk")

    def __init__(self, file: OpenFile, name: str, end: int, chunk_bytes: int = _CHUNK_BYTES) -> None:
        self._file = file
        self._name = name
        self._end = end
        self._chunk_bytes = chunk_bytes
        self._chunk_start = 0
        self.chunk = memoryview(b"")
        self.at = 0

    @property
    def position(self) -> int:
        """Position of the next batch in the file."""
        return self._chunk_start + self.at

    def more(self) -> bool:
        """Return whether another batch follows, and read it into the chunk as a whole.

        Raises RecordsDamaged if the next bytes are not a batch; OSError passes through.
        """
        left = self._end - self.position
        if left == 0:
            return False
        if self._size() is None:
            self._load(min(self._chunk_bytes, left))
        size = self._size()
        if size is None:
            raise self._damage()
        if size > len(self.chunk) - self.at:
            if size > left:
                raise self._damage()
            self._load(min(max(self._chunk_bytes, size), left))
            if size > len(self.chunk):
                raise self._damage()
        return True

    def take(self) -> memoryview:
        """Return the next batch after checking its CRC, and move behind it. Raises RecordsDamaged."""
        size = self._size()
        assert size is not None, "more() has said that there is one"
        batch = self.chunk[self.at : self.at + size]
        if not is_intact(batch):
            raise self._damage()
        self.at += size
        return batch

    def _size(self) -> int | None:
        """Return the size in the header of the batch at `at`; None if it is too small, or the header is not
        in the chunk.
        """
        field = self.chunk[self.at + LENGTH_AT : self.at + LOG_OVERHEAD]
        size = int.from_bytes(field, "big", signed=True) + LOG_OVERHEAD
        return size if len(field) == LOG_OVERHEAD - LENGTH_AT and size >= _SMALLEST_BATCH else None

    def _load(self, length: int) -> None:
        self._chunk_start, self.at = self.position, 0
        self.chunk = memoryview(pread_all(self._file, length, self._chunk_start))

    def _damage(self) -> RecordsDamaged:
        return RecordsDamaged(f"{self._name} is damaged at byte {self.position}")
