"""Keyed timers: at most one a key, each ending in an operation on the shard that set it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from kcompat.clock import Clock, Timer
    from kcompat.coordinator.operation import ShardOperation


class _Set(Struct):
    """Timer that is set, its deadline and its operation; times in ms."""

    timer: Timer
    operation: ShardOperation[Any, None]
    delay_ms: float
    due_ms: float


class KeyedTimers:
    """Timers of one shard by key. Setting a key again replaces its timer; `run` executes what is due."""

    __slots__ = ("_clock", "_run", "_timers")

    def __init__(self, clock: Clock, run: Callable[[ShardOperation[Any, None]], object]) -> None:
        self._clock = clock
        self._run = run
        self._timers: dict[Hashable, _Set] = {}

    def schedule(self, key: Hashable, delay_ms: float, operation: ShardOperation[Any, None]) -> None:
        """Run `operation` in `delay_ms` milliseconds, unless the key is set again or cancelled before."""
        self.cancel(key)
        timer = self._clock.call_later(delay_ms, partial(self._expire, key, operation))
        self._timers[key] = _Set(timer, operation, delay_ms, self._clock.now_ms() + delay_ms)

    def hurry(self, key: Hashable, share: float) -> None:
        """Shorten the key's timer, if it has one, to at most this share of its whole delay."""
        known = self._timers.get(key)
        if known is not None and known.due_ms > self._clock.now_ms() + share * known.delay_ms:
            self.schedule(key, share * known.delay_ms, known.operation)

    def is_set(self, key: Hashable) -> bool:
        """Whether the key has a timer that is not due yet."""
        return key in self._timers

    def cancel(self, key: Hashable) -> None:
        """Cancel the key's timer, if it has one."""
        known = self._timers.pop(key, None)
        if known is not None:
            known.timer.cancel()

    def cancel_all(self) -> None:
        """Cancel every timer: the shard is leaving."""
        for key in list(self._timers):
            self.cancel(key)

    def _expire(self, key: Hashable, operation: ShardOperation[Any, None]) -> None:
        del self._timers[key]
        self._run(operation)
