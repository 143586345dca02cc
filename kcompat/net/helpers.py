"""Threads beside the event loop, for computations that would hold it for long."""

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
    """Which work queues behind which; each lane has one thread."""

    SHORT = "short"
    """Work of some milliseconds. It does not wait for work of the other lane."""
    LONG = "long"
    """Work that may take longer."""


class Helpers:
    """One thread for each lane, started with its first work.

    Only work that mostly runs without the GIL belongs here: any other would hold up the loop all the same. It
    must not touch what the loop changes.
    """

    def __init__(self, clock: Clock, start_worker: Callable[[str, int], Worker]) -> None:
        self._clock = clock
        self._closed = False
        self._threads = {lane: start_worker(f"kcompat-{lane.value}", 1) for lane in Lane}

    def run(self, lane: Lane, work: Callable[[], T]) -> Promise[T]:
        """Run `work` when all that was given to the lane before is done.

        What it returns, or raises, settles the promise, on the loop's thread. After `close` nothing does.
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
        """Drop work that is not begun, wait for the rest, and end the threads."""
        self._closed = True
        for threads in self._threads.values():
            threads.close()
