"""The clock of a running broker: wall time, and timers of its event loop."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from kcompat.clock import Timer
    from kcompat.net.loop_turn import LoopTurn


class LoopClock:
    """A `kcompat.clock.Clock`. Timers run on the loop's thread; the loop's handler gets their exceptions."""

    __slots__ = ("_loop", "call_soon")

    def __init__(self, loop: asyncio.AbstractEventLoop, turn: LoopTurn | None = None) -> None:
        """`turn` is that of the loop, if its sockets are served in one."""
        self._loop = loop
        self.call_soon: Callable[[Callable[[], object]], object] = (turn or loop).call_soon
        """See `Clock.call_soon`."""

    def now_ms(self) -> int:
        """Wall-clock milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> Timer:
        """Run `callback` once after `delay_ms` milliseconds; from the loop's thread."""
        return self._loop.call_later(delay_ms / 1000, callback)

    def call_from_thread(self, callback: Callable[[], object]) -> None:
        """Run `callback` soon on the loop's thread; from any thread."""
        self._loop.call_soon_threadsafe(callback)
