"""Exponential backoff after failures in a row. Kafka's counterpart: `ExponentialBackoff`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from random import Random

JITTER: Final = 0.2
"""Fraction by which a pause is randomly shorter or longer, so that clients that failed together do not retry
together.
"""


def backoff_ms(failures: int, first_ms: float, longest_ms: float, random: Random) -> float:
    """Return the pause before the next attempt: it doubles with each failure in a row, up to `longest_ms`."""
    # The shift is bounded only so that the number cannot grow without end.
    doubled = min(first_ms * (1 << min(failures, 40)), longest_ms)
    return min(doubled * random.uniform(1 - JITTER, 1 + JITTER), longest_ms)
