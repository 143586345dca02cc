"""Events that the controller could not decide because the store took no write, kept for the next attempt.

Nobody tells the controller a second time that logs are deleted, replicas failed or brokers came and went.
Were it lost, a deletion would stay half done until the next term of office.
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
        """Try this again later."""
        self._waiting.append(what)
        if self._timer is None:
            self._timer = self._clock.call_later(PAUSE_MS, self.retry)

    def retry(self) -> None:
        """Try everything again now."""
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
