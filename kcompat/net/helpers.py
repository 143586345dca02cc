"""Threads beside the event loop, for computations that would block it for long."""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from kcompat.promise import Promise

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.clock import Clock
    from kcompat.worker import Worker

T = TypeVar("T")


class Lane(Enum):
    """Kinds of work by duration; each lane has one thread and runs its work in order."""

    SHORT = "short"
    """Work of some milliseconds. It does not wait for work of the other lane."""
    LONG = "long"
    """Work that may take longer."""


class Helpers:
    """One thread for each lane, started with its first work.

    Only work that mostly runs without the GIL belongs here: other work would block the loop all the same. The
    work must not touch objects that the loop changes.
    """

    def __init__(self, clock: Clock, start_worker: Callable[[str, int], Worker]) -> None:
        self._clock = clock
        self._closed = False
        self._threads = {lane: start_worker(f"kcompat-{lane.value}", 1) for lane in Lane}

    def run(self, lane: Lane, work: Callable[[], T]) -> Promise[T]:
        """Run `work` on the lane's thread, after all earlier work of the lane.

        The promise gets the result or the exception of `work`, on the loop's thread. After `close` it never
        completes.
        """
        promise: Promise[T] = Promise()

        def attempt() -> None:
            if self._closed:
                return
            try:
                settle = partial(promise.complete, work())
            except Exception as error:
                settle = partial(promise.fail, error)
            self._clock.call_from_thread(partial(self._settle, settle))

        self._threads[lane].submit(attempt)
        return promise

    def _settle(self, settle: Callable[[], object]) -> None:
        if not self._closed:
            settle()

    def close(self) -> None:
        """Drop work that has not begun, wait for the rest, and end the threads."""
        self._closed = True
        for threads in self._threads.values():
            threads.close()
