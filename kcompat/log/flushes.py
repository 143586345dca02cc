"""How much of a log is known to be on the device: its recovery point, and the syncs under way."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcompat.log.context import LogContext
    from kcompat.log.segment import Segment
    from kcompat.log.segments import Segments


class _Flush:
    """A sync in the background; once `done`, everything below `offset` is on the device unless it met an
    error.
    """

    __slots__ = ("done", "error", "offset", "segments")

    def __init__(self, segments: list[Segment], offset: int) -> None:
        self.segments = segments
        self.offset = offset
        self.done = False
        self.error: OSError | None = None

    def run(self) -> None:
        """On the storage thread."""
        try:
            for segment in self.segments:
                with contextlib.suppress(FileNotFoundError):  # retention or compaction came first
                    segment.sync()
        except OSError as error:
            self.error = error
        self.done = True


class Flushes:
    """The recovery point of one log. The storage thread only marks its own sync as done; the loop draws the
    conclusion.
    """

    __slots__ = ("_context", "_pending", "_point")

    def __init__(self, context: LogContext, recovery_point: int) -> None:
        self._context = context
        self._point = recovery_point
        self._pending: list[_Flush] = []

    @property
    def recovery_point(self) -> int:
        """Everything below this offset is on the device."""
        while self._pending and self._pending[0].done:
            flush = self._pending.pop(0)
            if flush.error is not None:
                self._context.fault(flush.error)
            elif flush.offset > self._point:
                self._point = flush.offset
        return self._point

    def start(self, segments: Segments, offset: int) -> None:
        """Sync the retired segments below `offset` in the background, as far as that is not under way."""
        covered = self._pending[-1].offset if self._pending else self._point
        flush = _Flush(
            [segment for segment in segments.from_offset(covered) if segment.base_offset < offset], offset
        )
        self._pending.append(flush)
        self._context.run(flush.run)

    def finish(self, offset: int) -> None:
        """Everything below `offset` has just been synced."""
        self._pending.clear()
        self._point = offset

    def cut(self, offset: int) -> None:
        """The log was cut at `offset`."""
        self._point = min(self.recovery_point, offset)
        self._pending.clear()
