"""Delayed requests, which wait for an event of a partition.

A waiter names the keys that it waits on and has a deadline. An event on a key wakes its waiters; nothing is
polled. A waiter that raises fails its own promise and is removed; the caller of `wake` does not see the
exception. Kafka's counterpart: `DelayedOperationPurgatory`; the event loop's timers replace its timing wheel.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from kcompat.promise import Promise

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from kcompat.clock import Clock, Timer

Result = TypeVar("Result")
ResultCo = TypeVar("ResultCo", covariant=True)


class Waiter(Protocol[ResultCo]):
    """Request that is answered once it is ready, or at its deadline."""

    def try_complete(self, key: Hashable) -> ResultCo | None:
        """Return the response if it is ready after an event on `key`, else None."""

    def expire(self) -> ResultCo:
        """Return the response at the deadline, or when the wait is ended early."""


class Delayed(Generic[Result]):
    """Waiter in the purgatory, with its keys and its timer."""

    __slots__ = ("_keys", "_purgatory", "_timer", "_waiter", "promise")

    def __init__(self, purgatory: Purgatory, waiter: Waiter[Result], keys: tuple[Hashable, ...]) -> None:
        self.promise: Promise[Result] = Promise()
        self._purgatory = purgatory
        self._waiter = waiter
        self._keys = keys
        self._timer: Timer | None = None

    def start(self, timer: Timer) -> None:
        """Set the timer of the deadline, which is cancelled on completion."""
        self._timer = timer

    def wake_by(self, keys: Sequence[Hashable]) -> None:
        """Check the waiter after events on `keys`, until it is complete."""
        for key in keys:
            if not self.promise.done:
                self.wake(key)

    def wake(self, key: Hashable) -> None:
        """Check the waiter after an event on `key`, and complete it if it is ready."""
        try:
            result = self._waiter.try_complete(key)
        except Exception as fault:
            self._leave()
            self.promise.fail(fault)
            return
        if result is not None:
            self._leave()
            self.promise.complete(result)

    def expire(self) -> None:
        """Complete a waiter that is not ready, at its deadline or when its connection sends a new request."""
        if self.promise.done:
            return
        self._leave()
        try:
            result = self._waiter.expire()
        except Exception as fault:
            self.promise.fail(fault)
        else:
            self.promise.complete(result)

    def _leave(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._purgatory.forget(self, self._keys)


class Purgatory:
    """Waiters of one kind, by key."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: dict[Hashable, dict[Delayed[Any], None]] = {}
        self._woken: dict[Hashable, None] = {}

    def __len__(self) -> int:
        return len({id(delayed) for waiting in self._waiting.values() for delayed in waiting})

    def wait(
        self, waiter: Waiter[Result], keys: Iterable[Hashable], timeout_ms: float | None
    ) -> Delayed[Result]:
        """Park a waiter that is not ready until an event on one of `keys` makes it ready, or until
        `timeout_ms` has passed.

        With a `timeout_ms` of None the waiter has no deadline.
        """
        delayed = Delayed(self, waiter, tuple(keys))
        for key in delayed._keys:
            self._waiting.setdefault(key, {})[delayed] = None
        if timeout_ms is not None:
            delayed.start(self._clock.call_later(timeout_ms, delayed.expire))
        return delayed

    def wake(self, key: Hashable) -> None:
        """Check the waiters of `key` now, before the caller continues."""
        waiting = self._waiting.get(key)
        if waiting is not None:
            for delayed in tuple(waiting):
                if not delayed.promise.done:
                    delayed.wake(key)

    def wake_soon(self, key: Hashable) -> None:
        """Check the waiters of `key` after the current event.

        The request that caused the event is answered first, and several events in a row cause one check. Each
        waiter is checked in its own callback, so its answer is sent before the next waiter is checked.
        """
        if key in self._waiting:
            if not self._woken:
                self._clock.call_soon(self._wake_pending)
            self._woken[key] = None

    def _wake_pending(self) -> None:
        woken, self._woken = self._woken, {}
        events: dict[Delayed[Any], list[Hashable]] = {}
        for key in woken:
            for delayed in self._waiting.get(key, ()):
                events.setdefault(delayed, []).append(key)
        wakes = [partial(delayed.wake_by, keys) for delayed, keys in events.items()]
        for wake in wakes[1:]:
            self._clock.call_soon(wake)
        if wakes:
            wakes[0]()

    def forget(self, delayed: Delayed[Any], keys: tuple[Hashable, ...]) -> None:
        """Remove a completed waiter from every key that it waited on."""
        for key in keys:
            waiting = self._waiting.get(key)
            if waiting is not None:
                waiting.pop(delayed, None)
                if not waiting:
                    del self._waiting[key]
