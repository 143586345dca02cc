"""Importing the handlers that nobody has asked for yet, once the broker serves.

To import all of them first would be a sixth of the time of a start. To import each one only when it is asked
for would be too late for a broker that has no file descriptor left, or whose files an upgrade has replaced.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.api.registry import Served
    from kcompat.clock import Clock, Timer

RETRY_MS: Final = 1000
"""After a file that could not be read."""


class LateImports:
    """One handler after the other, with what waits in the loop in between."""

    def __init__(self, clock: Clock, served: Iterable[Served]) -> None:
        self._clock = clock
        self._left = deque(served)
        self._timer: Timer | None = None

    def start(self) -> None:
        """Import one in each iteration of the event loop from now on."""
        self._import_in(0)

    def stop(self) -> None:
        """Leave the others."""
        if self._timer is not None:
            self._timer.cancel()

    def _import_in(self, delay_ms: int) -> None:
        self._timer = self._clock.call_later(delay_ms, self._import_next) if self._left else None

    def _import_next(self) -> None:
        try:
            self._left[0].handler()
        except OSError:
            self._import_in(RETRY_MS)
        else:
            self._left.popleft()
            self._import_in(0)
