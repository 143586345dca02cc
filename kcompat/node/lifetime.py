"""The started parts of a broker, which end in the opposite order."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from kcompat.faults import contained

if TYPE_CHECKING:
    from collections.abc import Callable


class Lifetime:
    """The parts that were started, each with the way to stop it and the way to abandon it."""

    def __init__(self) -> None:
        self._parts: list[tuple[Callable[[], object], Callable[[], object] | None]] = []

    def began(self, stop: Callable[[], object], abandon: Callable[[], object] | None = None) -> None:
        """Note that a part was started. `stop`, which may be a coroutine function, ends it in peace.

        `abandon` ends it as kill -9 would: nothing more is written, and no peer is told. A part needs none if
        it ends with a part that has one.
        """
        self._parts.append((stop, abandon))

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
        """Abandon the parts, the last one first: the end as by kill -9."""
        while self._parts:
            _, abandon = self._parts.pop()
            if abandon is not None:
                with contained("the abandonment of a broker"):
                    abandon()
