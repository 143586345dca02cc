"""The wait after a number of failures in a row. Kafka's counterpart: `ExponentialBackoff`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from random import Random

JITTER: Final = 0.2
"""A wait is up to so much shorter or longer: those who failed together come back one by one."""


def backoff_ms(failures: int, first_ms: float, longest_ms: float, random: Random) -> float:
    """The wait after a number of failures before the last one: it doubles with each, up to `longest_ms`."""
    # The shift is bounded only so that the number cannot grow without end.
    doubled = min(first_ms * (1 << min(failures, 40)), longest_ms)
    return min(doubled * random.uniform(1 - JITTER, 1 + JITTER), longest_ms)
