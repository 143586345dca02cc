"""A clock that runs like the real one, and can be moved forward.

`ManualClock.advance` moves the time ahead to each timer's due time in turn, and lets all work that the timer
causes finish before the next. The timers that a broker sets again and again, some of them every second, would
fire a million times in a week. So an advance goes in strides: timers that are set during a stride fire once
after it, late by at most a sixteenth of the time that has passed since the advance began. Timers that were
set before a stride fire exactly at their due times. A stride of an advance by minutes is shorter than the
intervals of most periodic work; an advance by weeks has some hundred strides.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from functools import partial
from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING, Final

from kcompat.net.loop_clock import LoopClock, LoopTimer

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.instrumentation.outside_work import OutsideWork
    from kcompat.instrumentation.quiet_loop import QuietLoop
    from kcompat.net.loop_iteration import LoopIteration

STRIDES_PER_ELAPSED: Final = 16
"""A stride is as long as this fraction of the time since the advance began."""
BUSY_ITERATIONS: Final = 50
"""Iterations of the event loop after which a step continues although clients keep the loop busy."""
NUDGE_S: Final = 1e-6
"""Seconds by which a timer fires after its due time, so that rounding does not make it fire before."""


class _ShiftedLoop:
    """A `TimedLoop` whose time is that of the event loop and an offset."""

    def __init__(self, loop: QuietLoop) -> None:
        self._loop = loop
        self.offset_s = 0.0
        self.call_soon = loop.call_soon
        self.call_soon_threadsafe = loop.call_soon_threadsafe

    def time(self) -> float:
        return self._loop.time() + self.offset_s

    def call_at(self, when: float, callback: Callable[[], object]) -> asyncio.TimerHandle:
        return self._loop.call_at(when - self.offset_s, callback)


class ManualClock(LoopClock):
    """A `kcompat.clock.Clock` of a `QuietLoop`; `work` counts what runs outside of the loop."""

    __slots__ = ("_advancing", "_is_ahead", "_quiet", "_shifted", "_work")

    def __init__(self, loop: QuietLoop, work: OutsideWork, iteration: LoopIteration | None = None) -> None:
        self._quiet = loop
        self._shifted = _ShiftedLoop(loop)
        self._work = work
        self._is_ahead = False
        self._advancing = asyncio.Lock()
        super().__init__(self._shifted, iteration)

    def now_ms(self) -> int:
        """Return milliseconds since the epoch: the time of the wall clock, plus all advances."""
        return int(time.time() * 1000 + self._shifted.offset_s * 1000)

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> LoopTimer:
        """Run `callback` once after `delay_ms` milliseconds; in the next iteration of the loop if there is no
        delay and the clock is being advanced.
        """
        if delay_ms > 0 or not self._is_ahead:
            return super().call_later(delay_ms, callback)
        timer = LoopTimer(self, callback)
        self._shifted.call_soon(partial(self._run, timer))
        return timer

    async def advance(self, ms: float) -> None:
        """Move the time forward, and run the timers that become due, each at its due time.

        Returns when their work is done, in threads and child processes too. A second caller waits for the
        first.
        """
        async with self._advancing:
            began = self._shifted.time()
            end = began + ms / 1000
            self._hold()
            try:
                await self._settle()
                await self._stride(began, end)
                self._move_to(end)
            finally:
                self._release()

    async def settle(self) -> None:
        """Wait until all work is done that does not wait for the passage of time."""
        async with self._advancing:
            self._hold()
            try:
                await self._settle()
            finally:
                self._release()

    async def _stride(self, began: float, end: float) -> None:
        """Run the timers that are due before `end`."""
        floor = began
        while (due := self._next_due()) <= end:
            first = max(due, floor)
            last = min(end, first + (first - began) / STRIDES_PER_ELAPSED)
            await self._run_until(last, floor)
            floor = last

    async def _run_until(self, last: float, floor: float) -> None:
        """Run the timers that are set now and due by `last`, none of them before `floor`."""
        due: deque[tuple[float, int, LoopTimer]] = deque()
        while self._next_due() <= last:
            due.append(heappop(self._timers))
        try:
            while due:
                when = max(due[0][0], floor)
                self._move_to(when + NUDGE_S)
                while due and due[0][0] <= when:
                    self._run(due.popleft()[2])
                await self._settle()
        finally:  # cancelled: the others ring later
            for each in due:
                heappush(self._timers, each)

    async def _settle(self) -> None:
        await self._quiet.until_quiet(BUSY_ITERATIONS)
        while self._work.is_under_way:
            self._release()  # compactions are polled by timers
            try:
                await self._work.until_done()
            finally:
                self._hold()
            await self._quiet.until_quiet(BUSY_ITERATIONS)

    def _next_due(self) -> float:
        timers = self._timers
        while timers and timers[0][2].is_over:
            heappop(timers)
            self._called_off -= 1
        return timers[0][0] if timers else inf

    def _move_to(self, when: float) -> None:
        """Move the time forward to `when`, unless it is later already."""
        self._shifted.offset_s += max(0.0, when - self._shifted.time())

    def _hold(self) -> None:
        """Let timers run by `advance` alone."""
        if self._armed is not None:
            self._armed.cancel()
        self._armed_at = -inf
        self._is_ahead = True

    def _release(self) -> None:
        """Let timers run as time passes."""
        self._is_ahead = False
        self._arm()
