"""Time as a port: wall-clock milliseconds, elapsed milliseconds and one-shot timers.

Pure state machines take `now_ms` as an argument. Those with timeouts (delayed operations, session timeouts)
take a `Clock`: the event loop's clock in a broker, a virtual one in a simulation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


class Timer(Protocol):
    """A scheduled call that can be cancelled."""

    def cancel(self) -> None:
        """Cancel the call; do nothing if it has already run."""


class Clock(Protocol):
    """Source of the wall-clock time, of elapsed time, and of timers."""

    def now_ms(self) -> int:
        """Return wall-clock time in milliseconds since the epoch, as in Kafka's timestamps."""

    def elapsed_ms(self) -> int:
        """Return milliseconds since some moment in the past. Setting the wall clock does not change them."""

    def call_soon(self, callback: Callable[[], object]) -> object:
        """Run `callback` once the current event has been served. Call this from the loop's thread."""

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> Timer:
        """Run `callback` once after `delay_ms` milliseconds of monotonic time."""

    def call_from_thread(self, callback: Callable[[], object]) -> None:
        """Run `callback` soon on the thread that runs the timers. May be called from any thread."""
