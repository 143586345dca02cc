"""What the controller could not decide as the store took no write, kept until that is tried again.

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
"""Before the next attempt, if nobody asks for anything earlier."""


class PutOff(Generic[T]):
    """What waits, in order. It is handed to `again` together: after the pause, or when somebody asks."""

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
        """Forget everything."""
        self._waiting = []
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
