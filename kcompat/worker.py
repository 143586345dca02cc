"""Threads beside the event loop, as a port: for system calls and computations that would block the loop for
long.

The submitted work releases the GIL most of the time, and touches no object that the loop changes.
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Protocol

from kcompat.faults import contained

if TYPE_CHECKING:
    from collections.abc import Callable


class Worker(Protocol):
    """Runner of work outside the event loop, in order, or several items at a time. Exceptions of the work
    are logged.
    """

    def submit(self, work: Callable[[], object]) -> None:
        """Run `work` once all earlier work is done, or has begun if several items run at a time."""

    def close(self) -> None:
        """Finish the submitted work."""


class ThreadWorker:
    """A `Worker` with up to `threads` threads, which start when there is work."""

    def __init__(self, name: str, threads: int = 1) -> None:
        self._name = name
        self._limit = threads
        self._queue: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []

    def submit(self, work: Callable[[], object]) -> None:
        if len(self._threads) < self._limit:
            thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            thread.start()
            self._threads.append(thread)
        self._queue.put(work)

    def close(self) -> None:
        """Finish the submitted work and end the threads; later work starts new ones."""
        for _ in self._threads:
            self._queue.put(None)
        while self._threads:
            self._threads.pop().join()

    def _run(self) -> None:
        while (work := self._queue.get()) is not None:
            with contained(f"work of the thread {self._name}"):
                work()
