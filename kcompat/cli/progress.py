"""A progress bar on standard error, shown only on a terminal and from `WORTH_SHOWING` bytes on."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

WORTH_SHOWING = 64 << 20
"""Smallest number of bytes for which a bar is shown."""

INTERVAL_S = 0.1
"""Shortest time in seconds between two drawings of a bar."""

_WIDTH = 40


class ProgressBar:
    """Bar for `total` bytes of work on several files in turn. Draws only if `shown`, at most once per
    `interval_s`.
    """

    def __init__(self, total: int, *, shown: bool, interval_s: float = INTERVAL_S) -> None:
        self._total = total
        self._shown = shown and total >= WORTH_SHOWING and sys.stderr.isatty()
        self._interval_s = interval_s
        self._before = 0
        self._drawn_at = time.monotonic()

    def at(self, position: int) -> None:
        """Show that the work has reached a byte of the current file."""
        if self._shown:
            now = time.monotonic()
            if now - self._drawn_at >= self._interval_s:
                self._drawn_at = now
                self._draw(self._before + position)

    def finished(self, size: int) -> None:
        """Count the current file, of `size` bytes, as done."""
        self._before += size

    def clear(self) -> None:
        """Erase the bar, so that other output can be printed."""
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _draw(self, done: int) -> None:
        filled = _WIDTH * min(done, self._total) // self._total
        bar = "#" * filled + "." * (_WIDTH - filled)
        print(f"\r[{bar}] {done >> 20} of {self._total >> 20} MiB", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()
