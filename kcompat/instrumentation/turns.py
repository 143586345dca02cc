"""The order of calls on one broker: many at a time look into it or change it, but none while it goes back."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from kcompat.node.broker import BrokerNode


class Turns:
    """A lock that calls share, and that a call which puts the broker back has alone.

    Calls get it in the order in which they ask, so that later calls do not delay a way back.
    """

    def __init__(self) -> None:
        self._entrance = asyncio.Lock()
        self._calls = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        """Keep the broker from going back within the block. Blocks must not be nested."""
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
        """Wait for the end of all calls, and keep others waiting within the block."""
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
