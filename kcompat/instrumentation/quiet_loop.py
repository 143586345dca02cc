"""An event loop that reports when it has nothing to do.

The loop asks its selector to wait only where no callback is ready and no timer is due. So a selector that
finds no event then knows that all work on this loop is done, except work that waits for something outside of
the loop: a thread, another process, or the passage of time. Bytes between sockets of the same machine have
arrived by then.
"""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class QuietSelector(selectors.DefaultSelector):
    """A selector that calls a function when its loop has nothing to do."""

    def __init__(self) -> None:
        super().__init__()
        self._called: Callable[[], object] | None = None
        self._iterations_left = 0

    def when_quiet(self, callback: Callable[[], object], iterations: int) -> None:
        """Call `callback` once, when the loop has nothing to do or after this number of its iterations."""
        assert self._called is None, "one at a time"
        self._called, self._iterations_left = callback, iterations

    def forget(self) -> None:
        """Cancel the pending call of `when_quiet`."""
        self._called = None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self._called is None:
            return super().select(timeout)
        ready = super().select(0)
        would_wait = timeout is None or timeout > 0
        self._iterations_left -= 1
        if self._iterations_left <= 0 or (would_wait and not ready):
            callback, self._called = self._called, None
            callback()
        return ready


class QuietLoop(asyncio.SelectorEventLoop):
    """An event loop whose program can wait until there is nothing else to do."""

    def __init__(self) -> None:
        self._quiet_selector = QuietSelector()
        super().__init__(self._quiet_selector)

    async def until_quiet(self, iterations: int) -> None:
        """Wait until the loop has nothing else to do, or for this number of iterations if clients keep it
        busy. One caller at a time.
        """
        quiet: asyncio.Future[None] = self.create_future()

        def end() -> None:
            if not quiet.done():  # else it is cancelled
                quiet.set_result(None)

        self._quiet_selector.when_quiet(end, iterations)
        try:
            await quiet
        finally:
            self._quiet_selector.forget()
