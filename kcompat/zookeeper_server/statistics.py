"""Counters of a server and of each of its connections, as its four-letter words show them."""

from __future__ import annotations


class Statistics:
    """Requests and how long they took, in ms."""

    __slots__ = ("_total_ms", "count", "longest_ms", "received", "sent", "shortest_ms")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start at zero."""
        self.received = 0
        self.sent = 0
        self.count = 0
        self.shortest_ms = 0
        self.longest_ms = 0
        self._total_ms = 0

    def answered(self, latency_ms: int) -> None:
        """A request has been answered."""
        self.shortest_ms = min(self.shortest_ms, latency_ms) if self.count else latency_ms
        self.longest_ms = max(self.longest_ms, latency_ms)
        self._total_ms += latency_ms
        self.count += 1

    @property
    def average_ms(self) -> float:
        """Average time of all answers in ms."""
        return self._total_ms / self.count if self.count else 0.0
