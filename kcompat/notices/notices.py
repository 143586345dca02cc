"""The log of the failures of a broker's clients, with one line for each cause and client in each window of
time.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.notices.cause import shortened

if TYPE_CHECKING:
    from kcompat.clock import Clock, Timer
    from kcompat.notices.cause import Cause

MOST_WINDOWS: Final = 200
"""Maximum number of pairs of a cause and a client with lines of their own at a time. Further clients share
one line for each cause, so that many clients cannot fill the log.
"""
OTHERS: Final = "other clients"


class _Window(Struct):
    """The time after a line, and the occurrences that were not logged."""

    timer: Timer
    count: int = 0
    """Occurrences since the window began."""
    suppressed: int = 0
    last: str = ""
    """The line of the last suppressed occurrence, kept as text because its details might keep a request in
    memory.
    """


class Notices:
    """The log of the failures of one broker's clients. Nothing is called while no client fails."""

    def __init__(self, clock: Clock) -> None:
        self._call_later = clock.call_later
        self._windows: dict[tuple[Cause, str], _Window] = {}

    def tell(self, cause: Cause, about: str, **details: object) -> None:
        """Log the reason why a client or group, `about`, fails; count it if it was logged within the
        window.
        """
        about = shortened(about)
        key = (cause, about)
        window = self._windows.get(key)
        if window is None:
            if not logging.getLogger(cause.logger).isEnabledFor(logging.WARNING):
                return
            if len(self._windows) >= MOST_WINDOWS:
                key = (cause, OTHERS)
                window = self._windows.get(key)
            if window is None:
                window = self._windows[key] = _Window(self._ends(key))
        window.count += 1
        if window.count == cause.after:
            _log(cause, cause.line(about, details))
        elif window.count > cause.after:
            window.suppressed += 1
            window.last = cause.line(about, details)

    def close(self) -> None:
        """Log the counts of the open windows, and end them."""
        for (cause, _), window in self._windows.items():
            window.timer.cancel()
            _log_suppressed(cause, window)
        self._windows.clear()

    def _ends(self, key: tuple[Cause, str]) -> Timer:
        return self._call_later(key[0].window_ms, partial(self._end, key))

    def _end(self, key: tuple[Cause, str]) -> None:
        """Log the count of a window, and begin the next one; forget a window without occurrences."""
        window = self._windows[key]
        if window.suppressed:
            _log_suppressed(key[0], window)
            window.suppressed = 0
            window.timer = self._ends(key)
        else:
            del self._windows[key]


def _log(cause: Cause, line: str) -> None:
    logging.getLogger(cause.logger).warning("%s", line)


def _log_suppressed(cause: Cause, window: _Window) -> None:
    if window.suppressed:
        _log(cause, f"{window.last} [{window.suppressed} more like this suppressed]")
