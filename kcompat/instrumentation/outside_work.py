"""The work of a broker that runs outside of its event loop: in threads, and in child processes that compact
logs.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.log.cleaner.job import LAST_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.log.cleaner.job import CleanJob, Report
    from kcompat.log.cleaner.runners import Runner
    from kcompat.node.environment import Environment
    from kcompat.worker import Worker


class OutsideWork:
    """The count of running work. Belongs to one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._count = 0
        self._done = asyncio.Event()

    @property
    def is_under_way(self) -> bool:
        """Whether any work is running."""
        return self._count > 0

    def begun(self) -> None:
        """Count one more."""
        self._count += 1

    def ended(self) -> None:
        """Count one less."""
        self._count -= 1
        if not self._count:
            self._done.set()

    def ended_in_thread(self) -> None:
        """Count one less, called from another thread, after everything that the thread has handed to the loop
        before.
        """
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self.ended)

    async def until_done(self) -> None:
        """Wait until no work is running."""
        while self._count:
            self._done.clear()
            await self._done.wait()

    def counting(self, environment: Environment) -> Environment:
        """Return the environment with workers and cleanings that are counted here."""

        def start_worker(name: str, threads: int) -> Worker:
            return _CountedWorker(environment.start_worker(name, threads), self)

        def start_cleaning(job: CleanJob) -> Runner:
            return _CountedRunner(environment.start_cleaning(job), self)

        return replace(environment, start_worker=start_worker, start_cleaning=start_cleaning)


class _CountedWorker:
    """A `kcompat.worker.Worker` whose submitted work is counted until it is done."""

    def __init__(self, worker: Worker, work: OutsideWork) -> None:
        self._worker = worker
        self._work = work
        self.close: Callable[[], None] = worker.close

    def submit(self, work: Callable[[], object]) -> None:
        def run() -> None:
            try:
                work()
            finally:
                self._work.ended_in_thread()

        self._work.begun()
        self._worker.submit(run)


class _CountedRunner:
    """A cleaning of a log that counts as work from its start to its last report."""

    def __init__(self, runner: Runner, work: OutsideWork) -> None:
        self._runner = runner
        self._work: OutsideWork | None = work
        work.begun()

    def poll(self) -> list[Report]:
        """Return the reports since the last call."""
        reports = self._runner.poll()
        if reports and isinstance(reports[-1], LAST_WORDS):
            self._end()
        return reports

    def stop(self) -> None:
        """End the cleaning."""
        self._runner.stop()
        self._end()

    def _end(self) -> None:
        if self._work is not None:
            work, self._work = self._work, None
            work.ended()
