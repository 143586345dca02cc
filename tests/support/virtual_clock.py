"""Time that moves only when a test says so."""

from __future__ import annotations

import heapq
from collections import deque
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class VirtualTimer:
    """A scheduled call of a `VirtualClock`."""

    __slots__ = ("callback", "due_ms")

    def __init__(self, due_ms: float, callback: Callable[[], object]) -> None:
        self.due_ms = due_ms
        self.callback: Callable[[], object] | None = callback

    def cancel(self) -> None:
        """Call it off; harmless when it has already run."""
        self.callback = None


class VirtualClock:
    """A `kcompat.clock.Clock` whose timers run inside `advance`, by due time, then in order of making."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._now_ms: float = now_ms
        self.set_back_ms = 0
        """Milliseconds by which the wall clock was set back since the start."""
        self._order = count()
        self._from_threads: deque[Callable[[], object]] = deque()
        self._timers: list[tuple[float, int, VirtualTimer]] = []

    def now_ms(self) -> int:
        """The present, in milliseconds since the epoch."""
        return int(self._now_ms) - self.set_back_ms

    def elapsed_ms(self) -> int:
        """The time that has passed, and a start that means nothing."""
        return int(self._now_ms)

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Run `callback` in the next `advance`."""
        self.call_later(0, callback)

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> VirtualTimer:
        """Run `callback` once `advance` has passed `delay_ms` milliseconds; 0 or less is the next one."""
        timer = VirtualTimer(self._now_ms + max(0.0, delay_ms), callback)
        heapq.heappush(self._timers, (timer.due_ms, next(self._order), timer))
        return timer

    def call_from_thread(self, callback: Callable[[], object]) -> None:
        """Run `callback` in the next `advance`; from any thread."""
        self._from_threads.append(callback)

    @property
    def pending(self) -> int:
        """Timers that are neither run nor cancelled."""
        return sum(timer.callback is not None for _, _, timer in self._timers)

    def pending_names(self) -> set[str]:
        """Return the names of the callbacks of pending timers."""
        callbacks = [timer.callback for _, _, timer in self._timers if timer.callback is not None]
        return {callback.__qualname__ for callback in callbacks if hasattr(callback, "__qualname__")}

    def next_due_ms(self) -> float | None:
        """When the next timer is due, in milliseconds since the epoch; None without any."""
        while self._timers and self._timers[0][2].callback is None:
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def advance(self, ms: float = 0) -> None:
        """Let `ms` milliseconds pass; each timer sees the time it was due, and may set more of them."""
        assert ms >= 0, "time does not go back"
        while self._from_threads:
            self._from_threads.popleft()()
        end = self._now_ms + ms
        while (due := self.next_due_ms()) is not None and due <= end:
            _, _, timer = heapq.heappop(self._timers)
            callback, timer.callback = timer.callback, None
            assert callback is not None
            self._now_ms = due
            callback()
        self._now_ms = end
