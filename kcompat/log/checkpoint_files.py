"""Offset checkpoint files of one log directory.

The event loop writes a file at once where its caller relies on it; other writes go to the storage thread. A
write still waiting for the storage thread is dropped when the event loop has written newer content, so that
older offsets never replace newer ones.
"""

from __future__ import annotations

import logging
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from kcompat.log.checkpoints import CheckpointDamaged, format_offsets, parse_offsets, read_optional
from kcompat.log.names import CLEANER_OFFSETS, HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from kcompat.log.context import LogContext

logger = logging.getLogger(__name__)

Offsets = dict[tuple[str, int], int]

_ALL = (RECOVERY_POINTS, LOG_STARTS, HIGH_WATERMARKS, CLEANER_OFFSETS)


class CheckpointFiles:
    """The checkpoint files of the log directory `context`, addressed by file name."""

    def __init__(self, context: LogContext) -> None:
        self._context = context
        self._found: dict[str, Offsets] = {}
        """Content of each file as the last run left it; it may not be on the device."""
        self._stored: dict[str, Offsets] = {}
        """Content that this run last wrote to each file."""
        self._latest: dict[str, Offsets] = {}
        """Newest content of each file, written already or waiting for the storage thread."""
        self._lock = Lock()  # guards these dictionaries and the files, which two threads write

    def read(self, name: str) -> Offsets | None:
        """Return the offsets in a file, empty if the file is missing; remove a damaged file and return None.

        Raises OSError.
        """
        path = self._path(name)
        data = read_optional(self._context.files, path)
        try:
            offsets = parse_offsets(data or b"")
        except CheckpointDamaged as damage:
            logger.warning("%s is damaged (%s) and will be rebuilt", path, damage)
            self._context.files.remove([path])
            return None
        self._found[name] = dict(offsets)
        return offsets

    def replace(self, name: str, offsets: Mapping[tuple[str, int], int], *, sync: bool = False) -> None:
        """Write these offsets to a file, unless the file already has them.

        With `sync`, the write survives a power cut. Raises OSError.
        """
        wanted = dict(offsets)
        with self._lock:
            self._latest[name] = wanted
            if self._stored.get(name) != wanted:
                self._write(name, wanted, sync=sync)

    def replace_aside(self, name: str, offsets: Mapping[tuple[str, int], int]) -> None:
        """Let the storage thread write and sync these offsets; it reports faults to the log directory."""
        wanted = dict(offsets)
        with self._lock:
            if self._latest.get(name) == wanted or self._context.offline is not None:
                return
            self._latest[name] = wanted
        self._context.run(partial(self._replace_on_thread, name, wanted))

    def forget(self, key: tuple[str, int], present: Container[tuple[str, int]]) -> None:
        """Remove a partition's entries from every checkpoint file.

        Where a file has to be written, entries of other partitions that are not in `present` are removed with
        it, so that the deletion of many partitions costs one write. Nothing is written where no file has an
        entry. Raises OSError.
        """
        for name in _ALL:
            with self._lock:  # the first state is the one that counts, once the storage thread has written it
                states = [known[name] for known in (self._latest, self._stored, self._found) if name in known]
            if any(key in offsets for offsets in states):
                kept = {each: offset for each, offset in states[0].items() if each in present and each != key}
                self.replace(name, kept, sync=True)

    def _replace_on_thread(self, name: str, wanted: Offsets) -> None:
        try:
            with self._lock:
                if self._latest.get(name) is wanted:
                    self._write(name, wanted, sync=True)
        except OSError as error:
            logger.warning("%s was not written: %s", self._path(name), self._context.fault(error))

    def _write(self, name: str, offsets: Offsets, *, sync: bool) -> None:
        try:
            self._context.files.replace_file(self._path(name), format_offsets(offsets), sync=sync)
        except OSError:
            del self._latest[name]  # the next content has to be written, even if it is the same
            raise
        self._stored[name] = offsets
        self._found.pop(name, None)

    def _path(self, name: str) -> str:
        return f"{self._context.path}/{name}"
