"""Storage threads of a broker without threads: their work is done at once, or when a test says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.faults import contained

if TYPE_CHECKING:
    from collections.abc import Callable


class LazyWorker:
    """A storage thread that does nothing before `work` or `close`."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], object]] = []

    def submit(self, work: Callable[[], object]) -> None:
        self.waiting.append(work)

    def work(self) -> None:
        """Do the submitted work, and the work that it submits."""
        while self.waiting:
            with contained("work of a thread"):
                self.waiting.pop(0)()

    close = work


class EagerWorker(LazyWorker):
    """A storage thread that does submitted work at once."""

    def submit(self, work: Callable[[], object]) -> None:
        self.waiting.append(work)
        self.work()
