"""An event loop in a thread of its own; the caller's thread submits work and waits for it."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from concurrent.futures import CancelledError, Future, wait
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kcompat.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

T = TypeVar("T")

TIDY_TIMEOUT_S = 20.0
JOIN_TIMEOUT_S = 30.0

_STOPPED: Final = "the broker was stopped meanwhile: end its calls and `with` blocks before its stop"
_IN_CHILD: Final = "brokers run in the process that started them: this one, a child of it, has none"

_deadline: ContextVar[float | None] = ContextVar("deadline", default=None)


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Let calls within the block raise TimeoutError when they are not done after `seconds` in total."""
    token = _deadline.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _deadline.reset(token)


class LoopThread:
    """Thread with an event loop that runs from the constructor until `close`."""

    def __init__(
        self,
        loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None,
        *,
        tidy_timeout_s: float = TIDY_TIMEOUT_S,
    ) -> None:
        """Start the thread; `loop_factory` makes the event loop, if it is not asyncio's own. `close` waits at
        most `tidy_timeout_s` for running calls.
        """
        self._tidy_timeout_s = tidy_timeout_s
        self._started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._calls: dict[Future[Any], asyncio.Task[None]] = {}
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._run, args=(loop_factory,), name="kcompat", daemon=True)
        try:
            self._thread.start()
            self._loop, self._closing = self._started.result()
        except BaseException:  # Ctrl-C, above all: nobody has this object then, and could close it
            self._started.add_done_callback(_close)
            if self.is_here:
                self._thread.join(JOIN_TIMEOUT_S)
            raise

    @property
    def is_here(self) -> bool:
        """Whether the thread runs in this process; in a forked child it does not."""
        return self._thread.is_alive()

    def call(
        self, work: Coroutine[object, object, T], timeout_s: float | None = None, *, finishes: bool = False
    ) -> T:
        """Run the coroutine `work` on the loop, and return its result or raise its exception. After
        `timeout_s` the coroutine is cancelled, and TimeoutError raised. Ctrl-C cancels it too. With
        `finishes`, only a second Ctrl-C cancels the coroutine; the first one is raised when the coroutine is
        done.

        Raises:
            UsageError: the thread ends or has ended, or this process is a forked child, which has no such
                thread; or the caller is a function that the thread itself calls.
        """
        if (deadline := _deadline.get()) is not None:
            left = max(0.0, deadline - time.monotonic())
            timeout_s = left if timeout_s is None else min(timeout_s, left)
        if threading.current_thread() is self._thread:  # it would wait for itself
            work.close()
            raise UsageError(
                "a function that a broker calls cannot call the broker: let it return, and call then"
            )
        if not self.is_here:
            work.close()
            raise UsageError(_STOPPED if os.getpid() == self._process else _IN_CHILD)
        # Made first, unlike that of `run_coroutine_threadsafe`: an interrupt at any place finds it.
        future: Future[T] = Future()
        try:
            try:
                self._loop.call_soon_threadsafe(self._begin, work, future)
                return future.result(timeout_s)
            except KeyboardInterrupt:
                if finishes and not future.cancel():  # it has begun
                    wait([future], timeout_s)
                raise
        except CancelledError as error:  # the thread has ended before the work
            raise UsageError(_STOPPED) from error
        except BaseException:
            if not (future.done() or future.cancel()):
                with suppress(RuntimeError):  # the loop is closed
                    self._loop.call_soon_threadsafe(self._cancel, future)
            raise

    def do(self, act: Callable[[], T]) -> T:
        """Call a plain function on the loop, and return its result or raise its exception."""

        async def work() -> T:
            return act()

        return self.call(work())

    def close(self) -> None:
        """Wait for running calls, cancel other tasks, and end the thread, if it runs in this process."""
        if not self.is_here:
            return
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join(JOIN_TIMEOUT_S)

    def _run(self, loop_factory: Callable[[], asyncio.AbstractEventLoop] | None) -> None:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            runner.run(self._live())

    async def _live(self) -> None:
        closing = asyncio.Event()
        self._started.set_result((asyncio.get_running_loop(), closing))
        await closing.wait()
        if self._calls:
            await asyncio.wait(self._calls.values(), timeout=self._tidy_timeout_s)

    def _begin(self, work: Coroutine[object, object, T], future: Future[T]) -> None:
        """Begin a call, unless its caller no longer waits for it. From then on `future` cannot be
        cancelled.
        """
        if future.set_running_or_notify_cancel():
            self._calls[future] = self._loop.create_task(self._settle(work, future))
        else:
            work.close()

    def _cancel(self, future: Future[Any]) -> None:
        if future in self._calls:
            self._calls[future].cancel()

    async def _settle(self, work: Coroutine[object, object, T], future: Future[T]) -> None:
        """Await a call, and give its result or its exception to the thread that waits for it."""
        try:
            future.set_result(await work)
        except asyncio.CancelledError:
            future.set_exception(CancelledError())
        except BaseException as error:
            future.set_exception(error)
            if not isinstance(error, Exception):
                raise
        finally:
            del self._calls[future]


def _close(started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
    """End a thread that has just started."""
    loop, closing = started.result()
    loop.call_soon_threadsafe(closing.set)
