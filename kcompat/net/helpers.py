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
    """Who queues behind whom; each lane has one thread."""

    SHORT = "short"
    """Work of some milliseconds, which the work of the other lane does not keep waiting."""
    LONG = "long"
    """Work without such a bound."""


class Helpers:
    """One thread for each lane, started with its first work.

    Work that lets go of the GIL leaves the loop its time. It touches nothing that the loop changes.
    """

    def __init__(self, clock: Clock, start_worker: Callable[[str, int], Worker]) -> None:
        self._clock = clock
        self._closed = False
        self._threads = {lane: start_worker(f"kcompat-{lane.value}", 1) for lane in Lane}

    def run(self, lane: Lane, work: Callable[[], T]) -> Promise[T]:
        """Run `work` behind what was given to the lane before; what it returned or raised comes on the loop.

        Nothing comes after `close`.
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
        """Drop what is not begun, wait for what is, and end the threads."""
        self._closed = True
        for threads in self._threads.values():
            threads.close()
