"""Wait for what no event announces, with a time limit that is longer on a slow machine.

Every wait of the tests on the real clock goes through `eventually`, `Patience` or `limit_s`, so that the rule
of how long to wait stands in one place.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

POLL_S = 0.02
"""Seconds between two looks at a condition."""


def slowness() -> float:
    """Return how many times longer than alone a process takes here now: its share of a processor, at least 1.

    The figure is the system's load average of the last minute for each processor.
    """
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def limit_s(seconds: float) -> float:
    """Return the time limit for a call that is given its limit at its start and is not to be asked again:
    `seconds` of a machine that is not busy, times the slowness of now.
    """
    return seconds * slowness()


class Patience:
    """A time limit in seconds of a machine that is not busy; it is longer the busier the machine is."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since = time.monotonic()

    @property
    def lasts(self) -> bool:
        """Whether there is time left."""
        passed = time.monotonic() - self._since
        return passed < self._seconds or passed < self._seconds * slowness()


def eventually(
    found: Callable[[], T],
    what: str | Callable[[], object] = "a condition holds",
    timeout_s: float = 30,
    poll_s: float = POLL_S,
) -> T:
    """Call `found` until it returns something true, and return that.

    Fail when `timeout_s` (see `Patience`) is over. The message is `what`, or what `what` returns then.
    """
    patience = Patience(timeout_s)
    while not (value := found()):
        assert patience.lasts, f"waited in vain: {what() if callable(what) else what}"
        time.sleep(poll_s)
    return value
