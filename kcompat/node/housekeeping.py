"""The timers of a broker's periodic work."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcompat.clock import Clock, Timer

NEVER_MS: Final = 2**40
"""Smallest interval in ms, 35 years, at which a chore is never run: Kafka's largest number stands for
"never"."""


class Chore(Struct, frozen=True):
    """Work to do every `interval_ms`; `first_ms`, if given, is the time until the first run."""

    name: str
    interval_ms: int
    do: Callable[[], object]
    first_ms: int | None = None


class Housekeeping:
    """Timers that run each chore when its time comes."""

    def __init__(self, clock: Clock, chores: Iterable[Chore]) -> None:
        self._clock = clock
        self._chores = list(chores)
        self._timers: dict[str, Timer] = {}

    def start(self) -> None:
        """Set the timers; an interval of `NEVER_MS` or more sets none."""
        for chore in self._chores:
            if chore.interval_ms < NEVER_MS:
                self._wait(chore, chore.interval_ms if chore.first_ms is None else chore.first_ms)

    def stop(self) -> None:
        """Cancel the timers."""
        for timer in self._timers.values():
            timer.cancel()

    def _wait(self, chore: Chore, delay_ms: int) -> None:
        self._timers[chore.name] = self._clock.call_later(delay_ms, partial(self._do, chore))

    def _do(self, chore: Chore) -> None:
        self._wait(chore, chore.interval_ms)  # before it is done: one that fails is tried again
        chore.do()
