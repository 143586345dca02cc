"""The clock of a running broker: wall time, and timers of its event loop."""

from __future__ import annotations

import time
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from typing import TYPE_CHECKING, Final

from kcompat.faults import contained

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from kcompat.net.loop_iteration import LoopIteration

FEW_CALLED_OFF: Final = 100
"""So many of the timers that are kept may be called off, or half of them; then those are thrown out."""


class LoopClock:
    """A `kcompat.clock.Clock`. Timers run on the loop's thread; a fault in one is logged.

    Nearly every timer is a deadline that is called off long before it comes. So the loop itself has one
    timer, for the first that may be due, and one that is called off stays among the others until its time
    has come, or there are many like it: to set and to call off cost less than a timer of the loop for each.
    """

    __slots__ = ("_armed", "_armed_at", "_called_off", "_loop", "_numbers", "_timers", "call_soon")

    def __init__(self, loop: asyncio.AbstractEventLoop, iteration: LoopIteration | None = None) -> None:
        """`iteration` is that of the loop, if its sockets are served in one."""
        self._loop = loop
        self.call_soon: Callable[[Callable[[], object]], object] = (iteration or loop).call_soon
        """Call a function in this loop iteration, behind the work that is under way (`Clock.call_soon`)."""
        self._timers: list[tuple[float, int, _Timer]] = []  # a heap, by the loop's time in seconds
        self._numbers = count()  # the order of those of one time
        self._called_off = 0  # how many of them were
        self._armed: asyncio.TimerHandle | None = None
        self._armed_at = inf
        """Loop time of the next call; while timers run it counts as armed, for they may set others."""

    def now_ms(self) -> int:
        """Wall-clock milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> _Timer:
        """Run `callback` once after `delay_ms` milliseconds; from the loop's thread."""
        when = self._loop.time() + delay_ms / 1000
        timer = _Timer(self, callback)
        heappush(self._timers, (when, next(self._numbers), timer))
        if when < self._armed_at:
            self._arm()
        return timer

    def call_from_thread(self, callback: Callable[[], object]) -> None:
        """Run `callback` soon on the loop's thread; from any thread."""
        self._loop.call_soon_threadsafe(callback)

    def _arm(self) -> None:
        """Have the loop call at the time of the first timer, if there is one."""
        if self._armed is not None:
            self._armed.cancel()
        timers = self._timers
        while timers and timers[0][2].is_over:
            heappop(timers)
            self._called_off -= 1
        self._armed_at = timers[0][0] if timers else inf
        self._armed = self._loop.call_at(self._armed_at, self._ring) if timers else None

    def _ring(self) -> None:
        """Run what is due, but for what is set meanwhile."""
        timers, due, first_new = self._timers, max(self._armed_at, self._loop.time()), next(self._numbers)
        self._armed_at = -inf
        try:
            while timers and timers[0][0] <= due and timers[0][1] < first_new:
                self._run(heappop(timers)[2])
        finally:
            self._arm()

    def _run(self, timer: _Timer) -> None:
        callback = timer.take()
        if callback is None:
            self._called_off -= 1
            return
        with contained("a timer"):
            callback()

    def note_called_off(self) -> None:
        """One of those that are kept was called off."""
        self._called_off += 1
        if self._called_off > FEW_CALLED_OFF and 2 * self._called_off > len(self._timers):
            self._timers[:] = [entry for entry in self._timers if not entry[2].is_over]
            heapify(self._timers)
            self._called_off = 0


class _Timer:
    """A `kcompat.clock.Timer` in the heap of a `LoopClock`."""

    __slots__ = ("_callback", "_clock")

    def __init__(self, clock: LoopClock, callback: Callable[[], object]) -> None:
        self._clock = clock
        self._callback: Callable[[], object] | None = callback

    @property
    def is_over(self) -> bool:
        """Whether it has been called off."""
        return self._callback is None

    def cancel(self) -> None:
        if self._callback is not None:
            self._callback = None
            self._clock.note_called_off()

    def take(self) -> Callable[[], object] | None:
        """Return the callback the first time; None after that, or where the timer was cancelled."""
        callback, self._callback = self._callback, None
        return callback
