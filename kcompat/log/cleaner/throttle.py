"""Holding a rate of bytes (`log.cleaner.io.max.bytes.per.second`)."""

from __future__ import annotations


class Throttle:
    """Says how long to wait. Time that was not used up is lost beyond one second's worth."""

    __slots__ = ("_paid_until_s", "_rate")

    def __init__(self, bytes_per_second: float) -> None:
        self._rate = max(bytes_per_second, 1.0)
        self._paid_until_s = 0.0

    def wait_s(self, size: int, now_s: float) -> float:
        """Seconds to wait after `size` more bytes, at a monotonic time."""
        self._paid_until_s = max(self._paid_until_s, now_s - 1.0) + size / self._rate
        return max(0.0, self._paid_until_s - now_s)
