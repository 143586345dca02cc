"""Keyed timers: at most one a key, each ending in an operation on the shard that set it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from kcompat.clock import Clock, Timer
    from kcompat.coordinator.operation import ShardOperation


class KeyedTimers:
    """The timers of one shard. Setting a key again replaces its timer; `run` executes what is due."""

    __slots__ = ("_clock", "_run", "_timers")

    def __init__(self, clock: Clock, run: Callable[[ShardOperation[Any, None]], object]) -> None:
        self._clock = clock
        self._run = run
        self._timers: dict[Hashable, Timer] = {}

    def schedule(self, key: Hashable, delay_ms: float, operation: ShardOperation[Any, None]) -> None:
        """Run `operation` in `delay_ms` milliseconds, unless the key is set again or cancelled before."""
        self.cancel(key)
        self._timers[key] = self._clock.call_later(delay_ms, partial(self._expire, key, operation))

    def is_set(self, key: Hashable) -> bool:
        """Whether the key has a timer that is not due yet."""
        return key in self._timers

    def cancel(self, key: Hashable) -> None:
        """Call the key's timer off, if it has one."""
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()

    def cancel_all(self) -> None:
        """Call every timer off: the shard is leaving."""
        for key in list(self._timers):
            self.cancel(key)

    def _expire(self, key: Hashable, operation: ShardOperation[Any, None]) -> None:
        del self._timers[key]
        self._run(operation)
