"""An event loop in a thread of its own, which the caller's thread gives work to and waits for."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

from kcompat.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")

TIDY_TIMEOUT_S = 20.0
JOIN_TIMEOUT_S = 30.0


class LoopThread:
    """Runs from the moment it is made until `close`."""

    def __init__(self) -> None:
        self._started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._calls: set[asyncio.Task[object]] = set()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live()), name="kcompat", daemon=True)
        self._thread.start()
        self._loop, self._closing = self._started.result()

    @property
    def is_here(self) -> bool:
        """Whether it runs in this process: in a forked child it does not."""
        return self._thread.is_alive()

    def call(self, work: Coroutine[object, object, T], timeout_s: float | None = None) -> T:
        """Run `work` on the loop, and return or raise what it does. After `timeout_s` it is cancelled, and
        TimeoutError raised.

        Raises:
            UsageError: the thread has ended, or this process is a forked child, which has none.
        """
        if not self.is_here:
            work.close()
            raise UsageError(
                "brokers run in the process that started them: this one, a child of it, has none"
            )
        future = asyncio.run_coroutine_threadsafe(self._tracked(work), self._loop)
        try:
            return future.result(timeout_s)
        except BaseException:
            future.cancel()  # nothing happens where it is done
            raise

    def do(self, act: Callable[[], T]) -> T:
        """Call a plain function on the loop, and return or raise what it does."""

        async def work() -> T:
            return act()

        return self.call(work())

    def close(self) -> None:
        """Let what was cancelled tidy up, cancel what is left to do, and end the thread, if it is here."""
        if not self.is_here:
            return
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join(JOIN_TIMEOUT_S)

    async def _live(self) -> None:
        closing = asyncio.Event()
        self._started.set_result((asyncio.get_running_loop(), closing))
        await closing.wait()
        if self._calls:
            await asyncio.wait(self._calls, timeout=TIDY_TIMEOUT_S)

    async def _tracked(self, work: Coroutine[object, object, T]) -> T:
        task = asyncio.current_task()
        assert task is not None
        self._calls.add(task)
        try:
            return await work
        finally:
            self._calls.discard(task)
