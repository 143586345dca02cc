"""Time as a port: wall-clock milliseconds and one-shot timers.

Pure machines take `now_ms` as an argument. Those that must wake up later (delayed operations, session
timeouts) take a `Clock`; the broker gives them the event loop's, the simulation a virtual one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


class Timer(Protocol):
    """A scheduled call that can still be called off."""

    def cancel(self) -> None:
        """Call it off; harmless when it has already run."""


class Clock(Protocol):
    """Where time comes from."""

    def now_ms(self) -> int:
        """Wall-clock time in milliseconds since the epoch, as Kafka's timestamps count it."""

    def call_soon(self, callback: Callable[[], object]) -> object:
        """Run `callback` once what is being served now has been; from the loop's thread."""

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> Timer:
        """Run `callback` once after `delay_ms` milliseconds of monotonic time."""

    def call_from_thread(self, callback: Callable[[], object]) -> None:
        """Run `callback` soon where timers run; from any thread."""
