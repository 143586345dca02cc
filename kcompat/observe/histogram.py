"""Durations in buckets, and their quantiles over the last minutes.

A histogram is a list of counts that only grow. A bucket is a quarter of a power of two, in nanoseconds, so a
quantile is at most an eighth off. Counting a duration costs one addition; quantiles are computed when they
are read.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

BUCKETS: Final = 4 * 48
"""Number of buckets: durations of up to 2^47 ns, about 39 hours. Longer durations are counted in the last
bucket.
"""

SHORTEST_NS: Final = 8

WINDOW_S: Final = 300.0
"""Seconds over which quantiles are taken, as in the histograms of Kafka's brokers."""
STEP_S: Final = 30.0
"""Seconds between two remembered states of a histogram."""


def new_histogram() -> list[int]:
    """Return a histogram without durations."""
    return [0] * BUCKETS


def bucket_of(ns: int) -> int:
    """Return the bucket of a duration in ns. Durations below `SHORTEST_NS` are in the first bucket."""
    if ns < SHORTEST_NS:
        ns = SHORTEST_NS
    bits = ns.bit_length()
    return min((bits << 2) + (ns >> (bits - 3) & 3), BUCKETS - 1)


def middle_of(bucket: int) -> float:
    """Return the middle of a bucket in ns."""
    bits, quarter = bucket >> 2, bucket & 3
    return (4 + quarter + 0.5) * float(2 ** (bits - 3))


def quantiles_of(counts: Sequence[int], wanted: Sequence[float]) -> list[float]:
    """Return the durations in ns below which these shares of a histogram lie, `wanted` in ascending order; 0
    for a histogram without durations.
    """
    total = sum(counts)
    found: list[float] = []
    below, bucket = 0, -1
    for share in wanted:
        while total and below < share * total:
            bucket += 1
            below += counts[bucket]
        found.append(middle_of(bucket) if total else 0.0)
    return found


class Window:
    """The earlier states of some histograms, by which their recent counts are computed."""

    def __init__(self) -> None:
        self._states: deque[tuple[float, dict[object, list[int]]]] = deque()

    def note(self, now: float, histograms: dict[object, list[int]]) -> None:
        """Remember the state of the histograms at `now`, in seconds, unless one was remembered a short time
        ago.
        """
        if self._states and now < self._states[-1][0] + STEP_S:
            return
        self._states.append((now, {key: list(counts) for key, counts in histograms.items()}))
        while len(self._states) > 1 and self._states[1][0] <= now - WINDOW_S:
            self._states.popleft()

    def lately(self, now: float, key: object, counts: list[int]) -> list[int]:
        """Return what a histogram has counted in the last `WINDOW_S` before `now`, or all that it has counted
        if its state at that time is not known.
        """
        if not self._states or self._states[0][0] > now - WINDOW_S:
            return counts
        former = self._states[0][1].get(key)
        return counts if former is None else [new - old for new, old in zip(counts, former, strict=True)]
