"""An event loop whose time is made of nothing: it jumps to the next timer as soon as there is nothing to do.

Everything on it, the brokers' asyncio tasks and the clocks they are given, sees the same time, and the same
program takes the same steps each time it runs.
"""

from __future__ import annotations

import asyncio
import selectors
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Coroutine
    from contextvars import Context

    from kcompat.clock import Timer

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

START_MS = 1_700_000_000_000


class DeadlockError(AssertionError):
    """Nothing is to be done, no timer is set, and the program has not ended: it waits for ever."""


class _NoFiles(selectors.BaseSelector):
    """A selector that no file wakes, and that is never asked."""

    def __init__(self) -> None:
        self._keys: dict[int, selectors.SelectorKey] = {}

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        raise AssertionError("nothing here waits for files")

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        fd = fileobj if isinstance(fileobj, int) else fileobj.fileno()
        key = self._keys[fd] = selectors.SelectorKey(fileobj, fd, events, data)
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._keys.pop(fileobj if isinstance(fileobj, int) else fileobj.fileno())

    def get_map(self) -> Any:
        return self._keys


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on which time passes only while there is nothing to do. What is due at one time happens
    in the order in which it was asked for.

    A simulation spends much of its time here, so this does what the loop of asyncio does without what only
    files, threads and its debug mode need.
    """

    _ready: deque[asyncio.Handle]
    _stopping: bool

    def __init__(self) -> None:
        self._now_s = 0.0
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._timer_count = 0
        super().__init__(_NoFiles())

    def time(self) -> float:
        """Seconds since the loop was made."""
        return self._now_s

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now_s + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        self._timer_count += 1
        heappush(self._timers, (when, self._timer_count, timer))
        return timer

    def _run_once(self) -> None:
        """Do what is to be done now, and if that is nothing, what is due next."""
        ready, timers = self._ready, self._timers
        while timers and timers[0][2].cancelled():
            heappop(timers)
        if not ready and not self._stopping:
            if not timers:
                raise DeadlockError("nothing is to be done, and no timer is set")
            self._now_s = max(self._now_s, timers[0][0])
        while timers and timers[0][0] <= self._now_s:
            ready.append(heappop(timers)[2])
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle.cancelled():
                handle._run()


class VirtualLoopClock:
    """A `kcompat.clock.Clock` of a `VirtualLoop`; wall-clock time begins at `START_MS`."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def now_ms(self) -> int:
        """The loop's time, in milliseconds since the epoch."""
        return START_MS + round(self._loop.time() * 1000)

    def elapsed_ms(self) -> int:
        """The loop's time."""
        return round(self._loop.time() * 1000)

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Run `callback` in the loop's next round."""
        self._loop.call_later(0, callback)

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> Timer:
        """Run `callback` once after `delay_ms` milliseconds."""
        return self._loop.call_later(delay_ms / 1000, callback)

    def call_from_thread(self, callback: Callable[[], object]) -> None:
        """Run `callback` soon; there are no threads."""
        self._loop.call_soon(callback)


def run_virtually(program: Callable[[VirtualLoop], Coroutine[Any, Any, T]]) -> T:
    """Run a program to its end on a loop of its own."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, VirtualLoop)
        return runner.run(program(loop))
