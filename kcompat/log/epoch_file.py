"""The leader epochs of a log, stored in its `leader-epoch-checkpoint`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.log.checkpoints import format_epochs
from kcompat.log.names import LEADER_EPOCH_CHECKPOINT

if TYPE_CHECKING:
    from kcompat.log.epochs import LeaderEpochCache
    from kcompat.log.files import Files

_UNSAVED: Final = -2


class EpochFile:
    """A `LeaderEpochCache` and its file, which is written before the first batch of an epoch is.

    An epoch without a batch need not be in the file: loading the log drops it, as it starts at the log end.
    `current` is the epoch whose batches may be appended without writing the file. A write replaces the whole
    file by a rename. The file is synced with the log, and one that a power cut damaged is rebuilt from the
    batches (KAFKA-16541).
    """

    __slots__ = ("_files", "_is_stale", "_path", "_synced", "cache", "current")

    def __init__(self, files: Files, directory: str, cache: LeaderEpochCache) -> None:
        self._files = files
        self._path = f"{directory}/{LEADER_EPOCH_CHECKPOINT}"
        self.cache = cache
        self.current = cache.latest
        self._is_stale = False
        self._synced = False

    @property
    def latest(self) -> int:
        """The newest epoch; -1 when there is none."""
        return self.cache.latest

    def epoch_for(self, offset: int) -> int:
        """Return the epoch in which `offset` was written; -1 when unknown."""
        return self.cache.epoch_for(offset)

    def begin(self, epoch: int, start_offset: int) -> None:
        """Add an epoch that begins at `start_offset` and has no batch yet."""
        if self.cache.assign(epoch, start_offset):
            self.current = _UNSAVED

    def assign(self, epoch: int, start_offset: int) -> None:
        """Add an epoch that begins with a batch at `start_offset`; `save` stores it."""
        self.begin(epoch, start_offset)
        self._is_stale |= self.current == _UNSAVED

    def truncate(self, *, start: int | None = None, end: int | None = None) -> None:
        """Restrict the epochs to offsets in [start, end); `save` stores the result."""
        changed = end is not None and self.cache.truncate_from_end(end)
        changed |= start is not None and self.cache.truncate_from_start(start)
        if changed:
            self._outdate()

    def clear(self) -> None:
        """Remove all epochs; `save` stores the result."""
        self.cache.clear()
        self._outdate()

    def _outdate(self) -> None:
        self.current = _UNSAVED
        self._is_stale = True

    def save(self, *, sync: bool = False) -> None:
        """Write the file if it lacks an epoch that has a batch, or with `sync` if it may not be on the
        device.

        Raises OSError.
        """
        if self._is_stale or (sync and not self._synced):
            self._files.replace_file(self._path, format_epochs(self.cache.entries), sync=sync)
            self.current = self.cache.latest
            self._is_stale = False
            self._synced = sync
