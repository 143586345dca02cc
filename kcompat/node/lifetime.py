"""The started parts of a broker, which are ended in the opposite order."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from kcompat.faults import contained

if TYPE_CHECKING:
    from collections.abc import Callable


class Lifetime:
    """Each part says, as it starts, how it ends in peace, and how when the broker is to be gone at once."""

    def __init__(self) -> None:
        self._parts: list[tuple[Callable[[], object], Callable[[], object] | None]] = []

    def began(self, stop: Callable[[], object], kill: Callable[[], object] | None = None) -> None:
        """A part was started: `stop`, perhaps a coroutine function, ends it; `kill` ends it without another
        word to the disk or to a peer. A part without `kill` has nothing that outlives those that have one.
        """
        self._parts.append((stop, kill))

    async def end(self) -> None:
        """Stop the parts, the last one first. A part that fails, or whose end is no longer waited for, spares
        no other; what it failed with is raised at the end.
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

    def cut_short(self) -> None:
        """Kill the parts, the last one first."""
        while self._parts:
            _, kill = self._parts.pop()
            if kill is not None:
                with contained("the sudden end of a broker"):
                    kill()
