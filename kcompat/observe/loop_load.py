"""Load of a broker's event loop: the share of time in which it is idle, and the delay of its calls.

One thread does the work of Kafka's network and request handler threads. A timer measures how late it is
called: a request that arrives at that moment waits as long, in the socket, where no broker can measure it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import perf_counter_ns, thread_time_ns
from typing import TYPE_CHECKING, Final

from kcompat.observe.histogram import bucket_of, new_histogram

if TYPE_CHECKING:
    from collections.abc import Callable

PROBE_S: Final = 0.1
"""Seconds between two measurements of the delay."""
IDLE_WINDOW_NS: Final = 60 * 10**9
"""Time in ns over which the idle share is taken, as in Kafka's one-minute rates."""

BETWEEN_READINGS_NS: Final = 10**9
"""Minimum time in ns between two readings that are kept, however often the page is requested."""


class LoopLoad:
    """The load of the event loop that calls `start`, measured until `stop`."""

    def __init__(
        self,
        wall_ns: Callable[[], int] = perf_counter_ns,
        busy_ns: Callable[[], int] = thread_time_ns,
    ) -> None:
        """Prepare. `busy_ns` returns the processor time in ns of the thread that calls it."""
        self._wall_ns, self._busy_ns = wall_ns, busy_ns
        self._readings: deque[tuple[int, int]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self.delays = new_histogram()
        """Delays of calls."""

    def start(self) -> None:
        """Begin to measure."""
        self._readings.append((self._wall_ns(), self._busy_ns()))
        self._set(asyncio.get_running_loop())

    def stop(self) -> None:
        """Stop measuring the load."""
        if self._timer is not None:
            self._timer.cancel()

    def _set(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_later(PROBE_S, self._called, loop, loop.time() + PROBE_S)

    def _called(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        self.delays[bucket_of(max(0, int((loop.time() - due) * 1e9)))] += 1
        self._set(loop)

    @property
    def readings(self) -> int:
        """Number of stored readings of the last minute."""
        return len(self._readings)

    def idle_share(self) -> float:
        """Return the share, from 0 to 1, of the last minute or of the time since the start in which the
        thread had nothing to do.
        """
        now, busy = self._wall_ns(), self._busy_ns()
        readings = self._readings
        while len(readings) > 1 and readings[1][0] <= now - IDLE_WINDOW_NS:
            readings.popleft()
        since, busy_then = readings[0]
        if now - readings[-1][0] >= BETWEEN_READINGS_NS:
            readings.append((now, busy))
        return 1.0 if now == since else max(0.0, 1 - (busy - busy_then) / (now - since))
