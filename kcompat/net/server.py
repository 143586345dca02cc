"""The listeners of a broker and the connections they accepted."""

from __future__ import annotations

import asyncio
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from kcompat.net.connection_rates import NO_ADDRESS_LIMITS
from kcompat.net.hub import Hub

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcompat.net.answers import FrameHandler
    from kcompat.net.limits import Limits
    from kcompat.net.listener import BoundListener
    from kcompat.net.loop_iteration import LoopIteration
    from kcompat.notices.notices import Notices

NO_GATES: Final[Mapping[str, FrameHandler]] = MappingProxyType({})
GRACE_S: Final = 1.0
"""Longest time in seconds that a stop waits for unfinished answers."""


class Server:
    """Opened listeners, started and stopped together on the running loop."""

    def __init__(
        self,
        listeners: Iterable[BoundListener],
        handler: FrameHandler,
        limits: Limits | None = None,
        iteration: LoopIteration | None = None,
        gates: Mapping[str, FrameHandler] = NO_GATES,
        address_limits: Mapping[str | None, float] = NO_ADDRESS_LIMITS,
        notices: Notices | None = None,
    ) -> None:
        """Make the server. `handler` serves every listener but those that have a handler of their own in
        `gates`, by name. `iteration` is the `LoopIteration` of the running loop, if one exists already.
        `address_limits` are described in `connection_rates`, `notices` in `Hub`.
        """
        self.listeners = list(listeners)
        self._handler = handler
        self._gates = gates
        self.hub = Hub(asyncio.get_running_loop(), limits, iteration, address_limits, notices)

    def start(self) -> None:
        """Start to accept connections on all listeners."""
        self.hub.start()
        for listener in self.listeners:
            listener.start(self.hub, self._gates.get(listener.name, self._handler))

    async def stop(self, grace_s: float = GRACE_S) -> None:
        """Stop accepting, finish pending answers within `grace_s` seconds, then close every connection."""
        for listener in self.listeners:
            listener.close()
        for connection in list(self.hub.connections):
            connection.finish()
        try:
            async with asyncio.timeout(grace_s):
                await self.hub.until_empty()
        except TimeoutError:
            pass
        self.hub.stop()

    def abandon(self) -> None:
        """Stop accepting and close connections at once; pending requests are not answered. The listeners stay
        bound until they are closed.
        """
        for listener in self.listeners:
            listener.pause()
        self.hub.stop()
