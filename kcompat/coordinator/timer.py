"""Timers of a shard by key, at most one for each key, which run operations on the shard."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from kcompat.clock import Clock, Timer
    from kcompat.coordinator.operation import ShardOperation


class _Set(Struct):
    """A pending timer, its operation, its delay and its deadline; times in ms."""

    timer: Timer
    operation: ShardOperation[Any, None]
    delay_ms: float
    due_ms: float


class KeyedTimers:
    """Timers of one shard by key.

    A second timer for a key replaces the first. `run(operation)` runs the operation of an expired timer.
    """

    __slots__ = ("_clock", "_run", "_timers")

    def __init__(self, clock: Clock, run: Callable[[ShardOperation[Any, None]], object]) -> None:
        self._clock = clock
        self._run = run
        self._timers: dict[Hashable, _Set] = {}

    def schedule(self, key: Hashable, delay_ms: float, operation: ShardOperation[Any, None]) -> None:
        """Run `operation` in `delay_ms` milliseconds, unless the key's timer is replaced or
        cancelled before.
        """
        self.cancel(key)
        timer = self._clock.call_later(delay_ms, partial(self._expire, key, operation))
        self._timers[key] = _Set(timer, operation, delay_ms, self._clock.now_ms() + delay_ms)

    def hurry(
        self,
        key: Hashable,
        share: float,
        marked: Callable[[ShardOperation[Any, None]], ShardOperation[Any, None]],
    ) -> None:
        """Shorten the key's pending timer to at most the fraction `share` of its delay.

        If that makes it earlier, `marked(operation)` runs instead of its operation.
        """
        known = self._timers.get(key)
        if known is not None and known.due_ms > self._clock.now_ms() + share * known.delay_ms:
            self.schedule(key, share * known.delay_ms, marked(known.operation))

    def expire(
        self, key: Hashable, marked: Callable[[ShardOperation[Any, None]], ShardOperation[Any, None]]
    ) -> bool:
        """Run `marked(operation)` for the operation of the key's pending timer now; return False if there is
        no such timer.
        """
        known = self._timers.get(key)
        if known is None:
            return False
        known.timer.cancel()
        self._expire(key, marked(known.operation))
        return True

    def is_set(self, key: Hashable) -> bool:
        """Return whether the key has a pending timer."""
        return key in self._timers

    def cancel(self, key: Hashable) -> None:
        """Cancel the key's pending timer."""
        known = self._timers.pop(key, None)
        if known is not None:
            known.timer.cancel()

    def cancel_all(self) -> None:
        """Cancel all timers: the shard is unloaded."""
        for key in list(self._timers):
            self.cancel(key)

    def _expire(self, key: Hashable, operation: ShardOperation[Any, None]) -> None:
        del self._timers[key]
        self._run(operation)
