"""Coroutines that run as tasks, each with a promise of its result."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kcompat.promise import Promise

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any, TypeVar

    T = TypeVar("T")


class PromisedTasks:
    """Running tasks of one owner, which cancels them when it stops."""

    def __init__(self, name: str) -> None:
        """Make an empty set of tasks; `name` is given to every task, for debugging."""
        self._name = name
        self._tasks: set[asyncio.Task[Any]] = set()

    def run(self, work: Coroutine[Any, Any, T]) -> Promise[T]:
        """Start a task and return a promise of its result or failure.

        The promise of a cancelled task is never completed, because its callers stop together with the owner.
        """
        promise: Promise[T] = Promise()
        task = asyncio.create_task(work, name=self._name)
        self._tasks.add(task)

        def settle(task: asyncio.Task[T]) -> None:
            self._tasks.discard(task)
            if task.cancelled():
                return
            error = task.exception()
            if error is None:
                promise.complete(task.result())
            elif isinstance(error, Exception):
                promise.fail(error)

        task.add_done_callback(settle)
        return promise

    def cancel(self) -> None:
        """Cancel every task."""
        for task in tuple(self._tasks):
            task.cancel()

    async def stop(self) -> None:
        """Cancel every task, and wait until all have ended."""
        self.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
