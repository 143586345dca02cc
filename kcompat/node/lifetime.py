"""The started parts of a broker, and their end in the opposite order."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Protocol

from kcompat.faults import contained

if TYPE_CHECKING:
    from collections.abc import Callable


class LifetimePart(Protocol):
    """A part of a broker that is started once and stopped once, such as a set of timers."""

    def start(self) -> object:
        """Start to run."""

    def stop(self) -> object:
        """End the running of the part."""


class Lifetime:
    """The started parts of a broker, each with a function that stops it and one that abandons it."""

    def __init__(self) -> None:
        self._parts: list[tuple[Callable[[], object], Callable[[], object] | None]] = []

    def began(self, stop: Callable[[], object], abandon: Callable[[], object] | None = None) -> None:
        """Register a part that was started. `stop`, which may be a coroutine function, ends it cleanly.

        `abandon` ends it as kill -9 would: it writes nothing more and notifies no peer. A part needs no
        `abandon` if it ends together with a part that has one.
        """
        self._parts.append((stop, abandon))

    def start(self, part: LifetimePart) -> None:
        """Start a part; its `stop` serves both as its clean end and when it is abandoned."""
        self.began(part.stop, part.stop)
        part.start()

    async def end(self) -> None:
        """Stop the parts, the last one first.

        All are stopped, even if one fails or the caller is cancelled; the first error is raised at the end.
        """
        fault: BaseException | None = None
        while self._parts:
            stop, _ = self._parts.pop()
            try:
                stopped = stop()
                if inspect.isawaitable(stopped):
                    await stopped
            except BaseException as error:
                fault = fault or error
        if fault is not None:
            raise fault

    def abandon(self) -> None:
        """Abandon the parts, the last one first: end them as kill -9 would."""
        while self._parts:
            _, abandon = self._parts.pop()
            if abandon is not None:
                with contained("the abandonment of a broker"):
                    abandon()
