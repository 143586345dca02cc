"""The last exchanges and connection events of a broker, with a limit in bytes."""

from __future__ import annotations

from collections import deque
from typing import Final

from kcompat.instrumentation.recording.exchange import RecordedEvent, RecordedExchange

RING_BYTES: Final = 1_000_000
"""Maximum number of bytes that a ring holds, including its Python objects."""
EXCHANGE_COST: Final = 420
"""Bytes that an exchange takes in addition to the bytes of its frames: its objects and its place in the ring.
"""
EVENT_COST: Final = 360
"""Bytes that an event takes in addition to its text."""
DROPPED: Final = -1
"""Mark of exchanges that are no longer in the ring; the mark of the others is their size in bytes."""


class Ring:
    """The last exchanges and events, in the order of their beginning: a `Sink` that drops the oldest."""

    def __init__(self, limit: int = RING_BYTES) -> None:
        self.limit = limit
        """Maximum number of bytes that the entries may take."""
        self._entries: deque[RecordedExchange | RecordedEvent] = deque()
        self.held = 0
        """Bytes that the entries take."""

    def add(self, exchange: RecordedExchange) -> None:
        cost = len(exchange.request) + EXCHANGE_COST
        for kept in exchange.answer:
            if type(kept) is bytes:
                cost += len(kept)
        exchange.mark = cost
        self._entries.append(exchange)
        self.held += cost
        if self.held > self.limit:
            self._drop()

    def settle(self, exchange: RecordedExchange) -> None:
        if exchange.mark == DROPPED:
            exchange.release()
            return
        cost = sum(len(kept) for kept in exchange.answer if isinstance(kept, bytes))
        exchange.mark += cost
        self.held += cost
        self._drop()

    def note(self, event: RecordedEvent) -> None:
        """Add an event of a connection."""
        self._entries.append(event)
        self.held += EVENT_COST + len(event.text)
        self._drop()

    def entries(self) -> list[RecordedExchange | RecordedEvent]:
        """Return the entries, the oldest first."""
        return list(self._entries)

    def _drop(self) -> None:
        """Drop the oldest entries until the others are within the limit."""
        while self.held > self.limit and self._entries:
            oldest = self._entries.popleft()
            if isinstance(oldest, RecordedEvent):
                self.held -= EVENT_COST + len(oldest.text)
            else:
                self.held -= oldest.mark
                oldest.mark = DROPPED
                oldest.release()  # a waiting request stays in memory until its answer comes
