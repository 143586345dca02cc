"""An event loop whose time is made of nothing: it jumps to the next timer as soon as there is nothing to do.

Everything on it, the brokers' asyncio tasks and the clocks they are given, sees the same time, and the same
program takes the same steps each time it runs.
"""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from kcompat.clock import Timer

T = TypeVar("T")

START_MS = 1_700_000_000_000


class DeadlockError(AssertionError):
    """Nothing is to be done, no timer is set, and the program has not ended: it waits for ever."""


class _NoFiles(selectors.BaseSelector):
    """A selector that no file wakes: instead of waiting it has time pass."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._keys: dict[int, selectors.SelectorKey] = {}

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise DeadlockError("nothing is to be done, and no timer is set")
        self.now_s += max(timeout, 0.0)
        return []

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        fd = fileobj if isinstance(fileobj, int) else fileobj.fileno()
        key = self._keys[fd] = selectors.SelectorKey(fileobj, fd, events, data)
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._keys.pop(fileobj if isinstance(fileobj, int) else fileobj.fileno())

    def get_map(self) -> Any:
        return self._keys


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on which time passes only while there is nothing to do."""

    def __init__(self) -> None:
        self._no_files = _NoFiles()
        super().__init__(self._no_files)
        self._clock_resolution = 1e-9

    def time(self) -> float:
        """Seconds since the loop was made."""
        return self._no_files.now_s


class VirtualLoopClock:
    """A `kcompat.clock.Clock` of a `VirtualLoop`; wall-clock time begins at `START_MS`."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def now_ms(self) -> int:
        """The loop's time, in milliseconds since the epoch."""
        return START_MS + round(self._loop.time() * 1000)

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> Timer:
        """Run `callback` once after `delay_ms` milliseconds."""
        return self._loop.call_later(delay_ms / 1000, callback)

    def call_from_thread(self, callback: Callable[[], object]) -> None:
        """Run `callback` soon; there are no threads."""
        self._loop.call_soon(callback)


def run_virtually(program: Callable[[VirtualLoop], Coroutine[Any, Any, T]]) -> T:
    """Run a program to its end on a loop of its own."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, VirtualLoop)
        return runner.run(program(loop))
