"""Threads beside the event loop, for computations that would hold it for long."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from kcompat.promise import Promise

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from kcompat.clock import Clock

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

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._closed = False
        self._threads = {lane: ThreadPoolExecutor(1, f"kcompat-{lane.value}") for lane in Lane}

    def run(self, lane: Lane, work: Callable[[], T]) -> Promise[T]:
        """Run `work` behind what was given to the lane before; what it returned or raised comes on the loop.

        Nothing comes after `close`.
        """
        promise: Promise[T] = Promise()

        def settle(done: Future[T]) -> None:
            if self._closed:
                return
            try:
                result = done.result()
            except Exception as error:
                promise.fail(error)
            else:
                promise.complete(result)

        future = self._threads[lane].submit(work)
        future.add_done_callback(lambda done: self._clock.call_from_thread(lambda: settle(done)))
        return promise

    def close(self) -> None:
        """Drop what is not begun, wait for what is, and end the threads."""
        self._closed = True
        for threads in self._threads.values():
            threads.shutdown(cancel_futures=True)
