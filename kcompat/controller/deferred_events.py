"""Events that the controller could not decide because the store refused the write, kept for another attempt.

They are reports that come only once, for example that logs are deleted or that a replica has failed. If such
an event were lost, a deletion would stay incomplete until the next term.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.clock import Clock, Timer

T = TypeVar("T")

PAUSE_MS: Final = 1000
"""Pause in ms before the next attempt, unless a request comes earlier."""


class DeferredEvents(Generic[T]):
    """Waiting items in order, handed to `again` together: after the pause, or when a request comes."""

    def __init__(self, clock: Clock, again: Callable[[T], object]) -> None:
        self._clock = clock
        self._again = again
        self._waiting: list[T] = []
        self._timer: Timer | None = None

    def put(self, what: T) -> None:
        """Keep an item for the next attempt."""
        self._waiting.append(what)
        if self._timer is None:
            self._timer = self._clock.call_later(PAUSE_MS, self.retry)

    def retry(self) -> None:
        """Hand all waiting items to `again` now."""
        waiting = self._waiting
        self.clear()
        for what in waiting:
            self._again(what)

    def clear(self) -> None:
        """Drop all waiting items, and the timer."""
        self._waiting = []
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
