"""The offset checkpoints of one log directory: what they hold on the disk, and what is on its way there.

They are written by the event loop, where somebody relies on it, and by the storage thread. What the loop
writes is never undone by something older that the thread has not got round to: that is left out.
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
    """The checkpoint files of the log directory `context`, each by its file name."""

    def __init__(self, context: LogContext) -> None:
        self._context = context
        self._found: dict[str, Offsets] = {}
        """Content of each file as the last run left it; it may not be on the device."""
        self._stored: dict[str, Offsets] = {}
        """Content that this run last wrote to each file."""
        self._latest: dict[str, Offsets] = {}
        """Newest content of each file, written already or waiting for the storage thread."""
        self._lock = Lock()  # for all of these and the files: two threads write

    def read(self, name: str) -> Offsets | None:
        """The offsets in a file, none if it is missing; None if it was damaged and is removed. Raises
        OSError.
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
        """Have a file hold these offsets when this returns; nothing is written if it does already. `sync`
        makes that survive a power cut. Raises OSError.
        """
        wanted = dict(offsets)
        with self._lock:
            self._latest[name] = wanted
            if self._stored.get(name) != wanted:
                self._write(name, wanted, sync=sync)

    def replace_aside(self, name: str, offsets: Mapping[tuple[str, int], int]) -> None:
        """Have the storage thread do that, and sync. It reports faults to the log directory."""
        wanted = dict(offsets)
        with self._lock:
            if self._latest.get(name) == wanted or self._context.offline is not None:
                return
            self._latest[name] = wanted
        self._context.run(partial(self._replace_on_thread, name, wanted))

    def forget(self, key: tuple[str, int], present: Container[tuple[str, int]]) -> None:
        """See to it that no file holds anything of a partition; others that are not `present` go with it, so
        that it is done once for many. Costs nothing where there is nothing. Raises OSError.
        """
        for name in _ALL:
            with self._lock:  # the first is what holds, once the thread has written it
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
            del self._latest[name]  # the next one is to be written, even if it is no other
            raise
        self._stored[name] = offsets
        self._found.pop(name, None)

    def _path(self, name: str) -> str:
        return f"{self._context.path}/{name}"
