"""An event loop that polls for some microseconds before it sleeps.

Waking a sleeping thread costs more than serving a small request. A client that waits for answers sends its
next request right after the last answer. So where requests have come close together, the loop polls again for
a few microseconds. The selector does so where it would sleep, when nothing else is left to do. The loop
passes it the time that it may wait, so no timer and no callback is delayed.
"""

from __future__ import annotations

import asyncio
import selectors
from time import monotonic
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

SPIN_S: Final = 30e-6
"""Seconds to poll again before a sleep. Twice as long gains nothing."""
SHORT_S: Final = 100e-6
"""Longest sleep, in seconds, that polling might have avoided: `SPIN_S` until the event, and the time to wake
up.
"""
MOST_PASSED_OVER: Final = 1023
"""Maximum number of short sleeps in a row before the loop polls once more."""


class Spin:
    """Decision whether to poll before a sleep, from the results of earlier polls. Pure.

    After polling found nothing, one short sleep passes before the next attempt, then three, then seven and so
    on; each success halves that number. So little time is lost where the client needs this processor to send
    its next request, which cannot arrive while the loop polls.
    """

    __slots__ = ("_left", "_may_be_soon", "_to_pass_over")

    def __init__(self) -> None:
        self._may_be_soon = False
        self._to_pass_over = 0
        self._left = 0

    @property
    def is_worth_it(self) -> bool:
        """Whether to poll before the next sleep."""
        return self._may_be_soon and not self._left

    def found(self) -> None:
        """Record that polling found something."""
        self._to_pass_over //= 2

    def found_nothing(self) -> None:
        """Record that polling found nothing."""
        self._to_pass_over = min(2 * self._to_pass_over + 1, MOST_PASSED_OVER)
        self._left = self._to_pass_over + 1  # one more, since the sleep after this poll counts too

    def slept(self, seconds: float) -> None:
        """Record the length of a sleep without polling before."""
        self._may_be_soon = seconds <= SHORT_S
        if self._may_be_soon and self._left:
            self._left -= 1


class SpinningSelector(selectors.DefaultSelector):
    """A selector that polls again before it sleeps, as `Spin` decides."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        """Make the selector; `now` returns the time in seconds."""
        super().__init__()
        self._now = now
        self._spin = Spin()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout <= 0:
            return super().select(timeout)
        spin, now = self._spin, self._now
        began = now()
        if spin.is_worth_it and (timeout is None or timeout > SPIN_S):
            looked = 0.0
            while looked < SPIN_S:
                ready = super().select(0)
                looked = now() - began
                if ready:
                    # An event found later came while another process had the processor.
                    spin.found() if looked < SPIN_S else spin.found_nothing()
                    return ready
            spin.found_nothing()
            began += looked
        ready = super().select(timeout)
        spin.slept(now() - began)
        return ready


def spinning_loop() -> asyncio.AbstractEventLoop:
    """Return an event loop that polls before it sleeps: a loop factory of `asyncio.Runner` for a dedicated
    process.
    """
    return asyncio.SelectorEventLoop(SpinningSelector())
