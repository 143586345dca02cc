"""The order of calls on one broker: many may read or change it at a time, but none during a reset or
restore.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from kcompat.node.broker import BrokerNode


class Turns:
    """A lock that calls on a broker share, and that a reset or restore holds exclusively.

    It is granted in the order of requests, so that later calls do not delay a reset.
    """

    def __init__(self) -> None:
        self._entrance = asyncio.Lock()
        self._calls = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        """Prevent a reset or restore during the block. Blocks must not be nested."""
        async with self._entrance:
            self._calls += 1
            self._idle.clear()
        try:
            yield
        finally:
            self._calls -= 1
            if not self._calls:
                self._idle.set()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Wait for the end of all calls, and delay others during the block."""
        async with self._entrance:
            await self._idle.wait()
            yield


_TURNS: Final[WeakKeyDictionary[BrokerNode, Turns]] = WeakKeyDictionary()


def turns(node: BrokerNode) -> Turns:
    """Return the lock of a broker, the same object for the same broker."""
    found = _TURNS.get(node)
    if found is None:
        found = _TURNS[node] = Turns()
    return found
