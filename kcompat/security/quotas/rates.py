"""Rates over a window of samples and token buckets, and the throttle times that follow from them.

All values are computed as in Kafka's `Rate`, `SampledStat`, `TokenBucket` and `QuotaUtils`, to the
millisecond, so that a client meets the same limits at every broker. Pure; times are wall-clock milliseconds.
"""

from __future__ import annotations

from math import floor
from typing import Final

from msgspec import Struct

LONGEST_THROTTLE_MS: Final = 2**31 - 1
"""Longest throttle time in ms that a response can carry."""


class QuotaWindow(Struct, frozen=True):
    """Number of samples and length of each in ms: `quota.window.num` and `quota.window.size.seconds`."""

    samples: int = 11
    sample_ms: int = 1000


class SampledRate:
    """Rate per second of a quantity over a window of samples.

    A sample begins with the first record after the end of the last one. The window is at least as long as all
    samples but one, so a burst after a pause counts as spread over them. A sample counts while any of its
    records is within the window; therefore one sample more than the window has is kept.
    """

    __slots__ = ("_begins", "_current", "_ends", "_total", "_values", "_window")

    def __init__(self, window: QuotaWindow) -> None:
        self._window = window
        self._begins: list[int] = []
        self._ends: list[int] = []  # time of the last record of each sample
        self._values: list[float] = []
        self._current = 0
        self._total = 0.0

    def record(self, value: float, now_ms: int) -> None:
        """Count a value; a negative value undoes a count."""
        current = self._current
        if not self._begins or now_ms < self._begins[current]:
            # The first record, or the first after the wall clock was set back.
            self._begins, self._ends, self._values = [now_ms], [now_ms], [0.0]
            self._current = current = 0
            self._total = 0.0
        elif now_ms - self._begins[current] >= self._window.sample_ms:
            current = self._begin_sample(now_ms)
        self._values[current] += value
        self._ends[current] = now_ms
        self._total += value

    def per_second(self, now_ms: int) -> float:
        """Return the rate at a time that is not before the last record."""
        if not self._begins:
            return 0.0
        return self.over(now_ms) / (self.window_ms(now_ms) / 1000)

    def over(self, now_ms: int) -> float:
        """Return the sum of all values in the window."""
        oldest_ms = now_ms - self._window.samples * self._window.sample_ms
        if min(self._ends, default=now_ms) <= oldest_ms:
            for index, end in enumerate(self._ends):
                if end <= oldest_ms:
                    self._reset(index, now_ms)
            self._total = sum(self._values)
        return self._total

    def window_ms(self, now_ms: int) -> int:
        """Return the length of the window in ms, after a call of `over` for the same time."""
        sample_ms = self._window.sample_ms
        elapsed_ms = now_ms - min(self._begins, default=now_ms)
        missing = self._window.samples - 1 - elapsed_ms // sample_ms
        return max(elapsed_ms + missing * sample_ms if missing > 0 else elapsed_ms, 1)

    def is_idle(self, now_ms: int) -> bool:
        """Return whether nothing was recorded within the window, so that a new object would measure the
        same.
        """
        return not self._ends or max(self._ends) <= now_ms - self._window.samples * self._window.sample_ms

    def _begin_sample(self, now_ms: int) -> int:
        """Begin a sample in place of the oldest one; return its index."""
        current = self._current = (self._current + 1) % (self._window.samples + 1)
        if current == len(self._begins):
            self._begins.append(now_ms)
            self._ends.append(now_ms)
            self._values.append(0.0)
        else:
            self._reset(current, now_ms)
            self._total = sum(self._values)  # added up anew, so that errors of floats do not add up
        return current

    def _reset(self, index: int, now_ms: int) -> None:
        self._begins[index] = self._ends[index] = now_ms
        self._values[index] = 0.0


class LimitedRate:
    """A sampled rate and the limit on it: bytes per second, or percent of a processor."""

    __slots__ = ("_longest_ms", "_rate", "_window", "limit")

    def __init__(self, limit: float, window: QuotaWindow, longest_ms: int = LONGEST_THROTTLE_MS) -> None:
        """Begin with a rate of 0; no throttle time exceeds `longest_ms`."""
        self.limit = limit
        self._window = window
        self._rate = SampledRate(window)
        self._longest_ms = longest_ms

    @property
    def most_at_once(self) -> int:
        """Largest value that may be recorded after a pause without a throttle time."""
        return int(self.limit * (self._window.samples - 1) * self._window.sample_ms / 1000)

    def record(self, value: float, now_ms: int) -> int:
        """Count a value, and return the time in ms after which the rate is at the limit again; 0 if the rate
        is within the limit.
        """
        rate = self._rate
        rate.record(value, now_ms)
        if not self.limit:
            return self._longest_ms
        excess = rate.per_second(now_ms) - self.limit
        if excess <= 0:
            return 0
        return min(_rounded(excess / self.limit * rate.window_ms(now_ms)), self._longest_ms)

    def take_back(self, value: float, now_ms: int) -> None:
        """Uncount a value that was counted."""
        self._rate.record(-value, now_ms)

    def is_idle(self, now_ms: int) -> bool:
        """Return whether a new object with the same limit would throttle as this one does."""
        return self._rate.is_idle(now_ms)


class TokenBucket:
    """Tokens that refill at the limit per second, up to those of a whole window; more tokens than there are
    may be taken at any time, which leaves the bucket in debt (KIP-599).
    """

    __slots__ = ("_refilled_ms", "_tokens", "_window_s", "limit")

    def __init__(self, limit: float, window: QuotaWindow) -> None:
        """Begin with a full bucket."""
        self.limit = limit
        self._window_s = window.samples * window.sample_ms / 1000
        self._refilled_ms = 0
        self._tokens = 0.0

    def throttle_ms(self, now_ms: int) -> int:
        """Return the time in ms until the debt is refilled; 0 without a debt."""
        self._refill(now_ms)
        if self._tokens >= 0:
            return 0
        return min(_rounded(-self._tokens / self.limit * 1000), LONGEST_THROTTLE_MS)

    def take(self, tokens: float, now_ms: int) -> None:
        """Take tokens, even more than there are."""
        self._refill(now_ms)
        self._tokens -= tokens

    def is_idle(self, now_ms: int) -> bool:
        """Return whether the bucket is full, as a new one would be."""
        self._refill(now_ms)
        return self._tokens >= self._window_s * self.limit

    def _refill(self, now_ms: int) -> None:
        # After the wall clock was set back nothing refills until the next call.
        elapsed_s = max(now_ms - self._refilled_ms, 0) / 1000
        self._tokens = min(self._window_s * self.limit, self._tokens + self.limit * elapsed_s)
        self._refilled_ms = now_ms


def _rounded(ms: float) -> int:
    """Round to the nearest integer, halves up, as Java's `Math.round` does."""
    return floor(ms + 0.5)
