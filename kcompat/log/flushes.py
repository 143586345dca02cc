"""The recovery point of a log, below which everything is on the device, and the syncs in progress."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.log.context import LogContext
    from kcompat.log.segment import Segment
    from kcompat.log.segments import Segments


class Flush:
    """A sync of the log between two offsets.

    Once `done`, that part is on the device unless the sync has an `error`.
    """

    __slots__ = ("_steps", "begin", "done", "error", "offset")

    def __init__(self, steps: Sequence[Callable[[], object]], begin: int, offset: int) -> None:
        self._steps = steps
        self.begin = begin
        self.offset = offset
        self.done = False
        self.error: Exception | None = None

    def run(self) -> None:
        """Run the sync. A helper thread may do so, as it changes nothing that the event loop changes."""
        try:
            for step in self._steps:
                with contextlib.suppress(FileNotFoundError):  # retention or compaction removed the file first
                    step()
        except Exception as error:
            self.error = error
        self.done = True


class Flushes:
    """The recovery point of one log. A helper thread only marks its own sync as done; the event loop moves
    the point.
    """

    __slots__ = ("_context", "_pending", "_point")

    def __init__(self, context: LogContext, recovery_point: int) -> None:
        self._context = context
        self._point = recovery_point
        self._pending: list[Flush] = []

    @property
    def recovery_point(self) -> int:
        """Offset below which everything is on the device."""
        if self._pending:
            self._conclude()
        return self._point

    def _conclude(self) -> None:
        unknown = []
        for flush in self._pending:
            if not flush.done or (flush.begin > self._point and flush.error is None):
                unknown.append(flush)
            elif flush.error is not None:
                self._context.lasting_fault(flush.error)
            else:
                self._point = max(self._point, flush.offset)
        self._pending = unknown

    def start(self, segments: Segments, offset: int) -> None:
        """Sync the retired segments below `offset` in the background, except those already being synced."""
        begin = max((flush.offset for flush in self._pending), default=self._point)
        retired = [segment for segment in segments.from_offset(begin) if segment.base_offset < offset]
        flush = Flush([segment.sync for segment in retired], begin, offset)
        self._pending.append(flush)
        self._context.run(flush.run)

    def everything(self, segments: Segments, offset: int, directory: str) -> Flush:
        """Return a sync of everything up to the log end, `offset`, which the caller runs. Raises OSError.

        The sync begins at the recovery point, so it also covers the unfinished syncs: once it is done,
        everything below `offset` is on the device.
        """
        begin = self.recovery_point
        found = segments.from_offset(begin)
        steps = [self._sync_of(segment) for segment in found if segment.size]
        if found[-1].base_offset >= begin:  # the file and its directory may be new: sync their names
            parent = directory.rpartition("/")[0]
            steps += [partial(self._context.files.sync_directory, path) for path in (directory, parent)]
        flush = Flush(steps, begin, offset)
        self._pending.append(flush)
        return flush

    def _sync_of(self, segment: Segment) -> Callable[[], object]:
        return partial(self._context.files.sync, segment.file) if segment.is_active else segment.sync

    def finish(self, offset: int) -> None:
        """Set the recovery point to `offset`, after everything below it has been synced."""
        self._pending.clear()
        self._point = offset

    def cut(self, offset: int) -> None:
        """Lower the recovery point to `offset`, where the log was truncated.

        Running syncs no longer count, as they do not cover what is appended there next.
        """
        self._point = min(self.recovery_point, offset)
        self._pending.clear()
