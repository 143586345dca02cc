"""Producer ids one by one out of blocks that the controller hands out (Kafka's `ProducerIdManager`).

What is left of a block when the broker stops is lost: an id is never given twice.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from kcompat.promise import Promise

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.cluster.znodes import ProducerIdBlock

MAX_WAITING = 10_000


class ProducerIds:
    """The block in use and those who wait for the next."""

    def __init__(self, allocate: Callable[[], Promise[ProducerIdBlock | None]]) -> None:
        self._allocate = allocate
        self._next = 0
        self._last = -1
        self._waiting: deque[Promise[int | None]] = deque()

    def next(self) -> Promise[int | None]:
        """A producer id; None when none can be had now and the client should try again."""
        if self._next <= self._last:
            return Promise.resolved(self._take())
        promise: Promise[int | None] = Promise()
        if len(self._waiting) >= MAX_WAITING:
            promise.complete(None)
            return promise
        self._waiting.append(promise)
        if len(self._waiting) == 1:
            self._ask()
        return promise

    def _ask(self) -> None:
        self._allocate().then(self._allocated, self._failed)

    def _allocated(self, block: ProducerIdBlock | None) -> None:
        if block is None:
            waiting, self._waiting = self._waiting, deque()
            for promise in waiting:
                promise.complete(None)
            return
        self._next, self._last = block.first, block.last
        while self._waiting and self._next <= self._last:
            self._waiting.popleft().complete(self._take())
        if self._waiting:
            self._ask()

    def _failed(self, error: Exception) -> None:
        """Each of those who wait is told, and the next to come asks anew."""
        waiting, self._waiting = self._waiting, deque()
        for promise in waiting:
            promise.fail(error)

    def _take(self) -> int:
        self._next += 1
        return self._next - 1
