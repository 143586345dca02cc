"""An event loop that looks again for a moment before it sleeps.

To wake a sleeping thread costs more than to serve a small request. So where requests have come close
together, the loop looks again for a few microseconds: who waits for answers sends the next request right
after the last answer. It does so where it would sleep, when nothing else is left to do: in its selector.
There it is told how long it may wait, so no timer and no callback waits for it, whoever set them.
"""

from __future__ import annotations

import asyncio
import selectors
from time import monotonic
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

SPIN_S: Final = 30e-6
"""Seconds to poll again before a sleep. Twice as long brings nothing more."""
SHORT_S: Final = 100e-6
"""A sleep of no more than this might have been spared: what woke it may have come within `SPIN_S`, and the
rest is what it takes to wake up.
"""
MOST_PASSED_OVER: Final = 1023
"""Largest number of short sleeps in a row before the loop polls again once more."""


class Spin:
    """Decides whether to look again, by what the last times were like. Pure.

    Where that was in vain, a short sleep is passed over before it is tried again, then three, then seven and
    so on; each time it was not halves that. So nothing is lost where another process needs this processor to
    send the next request, which then never comes while this one looks.
    """

    __slots__ = ("_left", "_may_be_soon", "_to_pass_over")

    def __init__(self) -> None:
        self._may_be_soon = False
        self._to_pass_over = 0
        self._left = 0

    @property
    def is_worth_it(self) -> bool:
        """Whether to look again before the next sleep."""
        return self._may_be_soon and not self._left

    def found(self) -> None:
        """Note that polling found something."""
        self._to_pass_over //= 2

    def found_nothing(self) -> None:
        """Note that polling found nothing."""
        self._to_pass_over = min(2 * self._to_pass_over + 1, MOST_PASSED_OVER)
        self._left = self._to_pass_over + 1  # that sleep is none of them

    def slept(self, seconds: float) -> None:
        """Note the length of a sleep without polling before."""
        self._may_be_soon = seconds <= SHORT_S
        if self._may_be_soon and self._left:
            self._left -= 1


class SpinningSelector(selectors.DefaultSelector):
    """A selector that polls again before it sleeps, as `Spin` decides."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        """`now` gives the time in seconds."""
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
                    # What was found later came while another process had the processor.
                    spin.found() if looked < SPIN_S else spin.found_nothing()
                    return ready
            spin.found_nothing()
            began += looked
        ready = super().select(timeout)
        spin.slept(now() - began)
        return ready


def spinning_loop() -> asyncio.AbstractEventLoop:
    """For `asyncio.Runner`, in a process that does nothing but serve."""
    return asyncio.SelectorEventLoop(SpinningSelector())
