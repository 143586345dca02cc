"""The helper thread of the storage: slow system calls that release the GIL, one after another, and nothing
else.
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Worker:
    """Runs work in order on one thread, which starts with the first of it. Work must not raise."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def submit(self, work: Callable[[], object]) -> None:
        """Run `work` when everything before it is done."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="kcompat-storage", daemon=True)
            self._thread.start()
        self._queue.put(work)

    def close(self) -> None:
        """Finish what is queued and end the thread; later work starts a new one."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while (work := self._queue.get()) is not None:
            work()
