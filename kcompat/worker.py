"""Threads beside the event loop, as a port: system calls and computations that would hold the loop for long.

What they run lets go of the interpreter's lock most of the time, and touches nothing that the loop changes.
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Protocol

from kcompat.faults import contained

if TYPE_CHECKING:
    from collections.abc import Callable


class Worker(Protocol):
    """Runs work aside from the event loop, in order, or some at a time. What work raises is logged."""

    def submit(self, work: Callable[[], object]) -> None:
        """Run `work` after all that was submitted before is done, or has begun where some run at a time."""

    def close(self) -> None:
        """Finish what was submitted."""


class ThreadWorker:
    """A `Worker` of up to `threads` threads, which start when there is work."""

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
        """Finish what was submitted and end the threads; later work starts new ones."""
        for _ in self._threads:
            self._queue.put(None)
        while self._threads:
            self._threads.pop().join()

    def _run(self) -> None:
        while (work := self._queue.get()) is not None:
            with contained(f"work of the thread {self._name}"):
                work()
