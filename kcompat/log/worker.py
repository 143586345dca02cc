"""The helper threads of the storage: slow system calls that release the GIL, and nothing else."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Worker:
    """Runs work on a thread, in order, or on several; they start with the work. It must not raise."""

    def __init__(self, threads: int = 1) -> None:
        self._limit = threads
        self._queue: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []

    def submit(self, work: Callable[[], object]) -> None:
        """Run `work` when everything before it is done, or begun where there are several threads."""
        if len(self._threads) < self._limit:
            thread = threading.Thread(target=self._run, name="kcompat-storage", daemon=True)
            thread.start()
            self._threads.append(thread)
        self._queue.put(work)

    def close(self) -> None:
        """Finish what is queued and end the threads; later work starts new ones."""
        for _ in self._threads:
            self._queue.put(None)
        while self._threads:
            self._threads.pop().join()

    def _run(self) -> None:
        while (work := self._queue.get()) is not None:
            work()
