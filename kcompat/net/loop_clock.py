"""The clock of a running broker: wall time, and timers of its event loop."""

from __future__ import annotations

import time
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from typing import TYPE_CHECKING, Final, Protocol

from kcompat.faults import contained

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from kcompat.net.loop_iteration import LoopIteration

FEW_CALLED_OFF: Final = 8
"""Number of cancelled timers that the heap may always hold; above it, they are removed once they are half of
all timers.
"""


class TimedLoop(Protocol):
    """The part of an event loop that a clock uses."""

    def time(self) -> float:
        """Return the loop's time in seconds."""

    def call_at(self, when: float, callback: Callable[[], object]) -> asyncio.TimerHandle:
        """Run `callback` once at the loop's time `when`."""

    def call_soon(self, callback: Callable[[], object]) -> object:
        """Run `callback` in the next iteration."""

    def call_soon_threadsafe(self, callback: Callable[[], object]) -> object:
        """Run `callback` in the next iteration. May be called from any thread."""


class LoopClock:
    """A `kcompat.clock.Clock`. Timers run on the loop's thread; a fault in one is logged.

    Nearly every timer is a deadline that is cancelled long before it is due. So the loop itself has one timer
    only, for the earliest that may be due, and a cancelled timer stays in the heap until its time has come or
    many are cancelled. Setting and cancelling then cost less than a timer of the loop for each.
    """

    __slots__ = ("_armed", "_armed_at", "_called_off", "_loop", "_numbers", "_timers", "call_soon")

    def __init__(self, loop: TimedLoop, iteration: LoopIteration | None = None) -> None:
        """Make the clock of a loop. `iteration` is the loop's `LoopIteration`, if its sockets are served in
        one.
        """
        self._loop = loop
        self.call_soon: Callable[[Callable[[], object]], object] = (iteration or loop).call_soon
        """Call a function in this loop iteration, after the current work (`Clock.call_soon`)."""
        self._timers: list[tuple[float, int, LoopTimer]] = []  # a heap, by the loop's time in seconds
        self._numbers = count()  # numbers order timers of equal time
        self._called_off = 0  # number of cancelled timers in the heap
        self._armed: asyncio.TimerHandle | None = None
        self._armed_at = inf
        """Loop time of the next call. While timers run the clock counts as armed, since they may set others.
        """

    def now_ms(self) -> int:
        """Return wall-clock milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def elapsed_ms(self) -> int:
        """Return milliseconds of the loop's time."""
        return int(self._loop.time() * 1000)

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> LoopTimer:
        """Run `callback` once after `delay_ms` milliseconds. Call this from the loop's thread."""
        when = self._loop.time() + delay_ms / 1000
        timer = LoopTimer(self, callback)
        heappush(self._timers, (when, next(self._numbers), timer))
        if when < self._armed_at:
            self._arm()
        return timer

    def call_from_thread(self, callback: Callable[[], object]) -> None:
        """Run `callback` soon on the loop's thread. May be called from any thread."""
        self._loop.call_soon_threadsafe(callback)

    def _arm(self) -> None:
        """Schedule a call of the loop at the time of the first timer, if there is one."""
        if self._armed is not None:
            self._armed.cancel()
        timers = self._timers
        while timers and timers[0][2].is_over:
            heappop(timers)
            self._called_off -= 1
        self._armed_at = timers[0][0] if timers else inf
        self._armed = self._loop.call_at(self._armed_at, self._ring) if timers else None

    def _ring(self) -> None:
        """Run the timers that are due, except those set meanwhile."""
        timers, due, first_new = self._timers, max(self._armed_at, self._loop.time()), next(self._numbers)
        self._armed_at = -inf
        try:
            while timers and timers[0][0] <= due and timers[0][1] < first_new:
                self._run(heappop(timers)[2])
        finally:
            self._arm()

    def _run(self, timer: LoopTimer) -> None:
        callback = timer.take()
        if callback is None:
            self._called_off -= 1
            return
        with contained("a timer"):
            callback()

    def note_called_off(self) -> None:
        """Count one more cancelled timer in the heap."""
        self._called_off += 1
        if self._called_off > FEW_CALLED_OFF and 2 * self._called_off > len(self._timers):
            self._timers[:] = [entry for entry in self._timers if not entry[2].is_over]
            heapify(self._timers)
            self._called_off = 0


class LoopTimer:
    """A `kcompat.clock.Timer` in the heap of a `LoopClock`."""

    __slots__ = ("_callback", "_clock")

    def __init__(self, clock: LoopClock, callback: Callable[[], object]) -> None:
        self._clock = clock
        self._callback: Callable[[], object] | None = callback

    @property
    def is_over(self) -> bool:
        """Whether the timer is cancelled or has run."""
        return self._callback is None

    def cancel(self) -> None:
        if self._callback is not None:
            self._callback = None
            self._clock.note_called_off()

    def take(self) -> Callable[[], object] | None:
        """Return the callback the first time; None after that, or where the timer was cancelled."""
        callback, self._callback = self._callback, None
        return callback
