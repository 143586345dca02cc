"""The start and the stop of an embedded broker for programs on an event loop: `async with`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

T = TypeVar("T")


class AsyncContext(ABC):
    """Base class whose `async with` starts and stops while the caller's asyncio loop goes on."""

    @abstractmethod
    def start(self) -> Self:
        """Start and wait until clients are served."""

    @abstractmethod
    def stop(self) -> None:
        """Shut down cleanly."""

    async def __aenter__(self) -> Self:
        import asyncio

        try:
            return await _in_thread(self.start)
        except asyncio.CancelledError:
            await _in_thread(self.stop)  # does nothing where the start failed
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await _in_thread(lambda: self._leave(error))

    def _leave(self, error: BaseException | None) -> None:  # noqa: ARG002 - for those who override it
        """Stop the broker at the end of the block; `error` is the exception that ended the block, or None."""
        self.stop()


async def _in_thread(work: Callable[[], T]) -> T:
    """Call `work` in a thread and return its result. A caller that is cancelled waits for the end of `work`
    first, since nothing can interrupt it.
    """
    import asyncio

    task, cancelled = asyncio.ensure_future(asyncio.to_thread(work)), None
    while not task.done():
        try:
            await asyncio.wait({task})  # which, unlike `await task`, passes no cancellation on
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        task.exception()  # otherwise asyncio logs that nobody asked for it
        raise cancelled
    return task.result()
