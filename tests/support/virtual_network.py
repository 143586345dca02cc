"""The network in memory as simulations have it: what clients send takes a while, comes in pieces as chance
has it, and is told. Between hosts there are links, which can be cut and slowed, each way by itself.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from support.memory_transport import MemoryNetwork
from support.raw_client import request_frame, response_in
from support.virtual_links import Link, VirtualConnector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from random import Random

    from kcompat.protocol.message import Message
    from support.memory_transport import MemoryPeer

Address = tuple[str, int]

LONGEST_DELAY_S: Final = 0.005


class VirtualNetwork(MemoryNetwork):
    """All addresses there are. `told` hears of everything that clients send and receive, as they do."""

    def __init__(self, random: Random, told: Callable[[str], object]) -> None:
        super().__init__()
        self.random = random
        self.told = told
        self._links: dict[tuple[str, str], Link] = {}
        self._connectors: list[VirtualConnector] = []

    async def client(self, name: str, address: Address) -> VirtualClient:
        """A connection of a client with this name. Raises ConnectionRefusedError."""
        await self.delay()
        return VirtualClient(self, name, self.connect(*address, source=name))

    async def delay(self) -> None:
        """The time that something is on its way."""
        await asyncio.sleep(self.random.uniform(0, LONGEST_DELAY_S))

    def connector(self, host: str) -> VirtualConnector:
        """How a broker on this host connects to others."""
        connector = VirtualConnector(self, host)
        self._connectors.append(connector)
        return connector

    def link(self, source: str, target: str) -> Link:
        """The way from one host to another; the way back is a link of its own."""
        found = self._links.get((source, target))
        if found is None:
            found = self._links[source, target] = Link(self.random, LONGEST_DELAY_S)
        return found

    def isolate(self, host: str, others: Iterable[str]) -> None:
        """Cut the links between a host and others, both ways."""
        for other in others:
            self.link(host, other).cut()
            self.link(other, host).cut()

    def heal(self) -> None:
        """All links work again; what was on its way arrives after all."""
        for link in self._links.values():
            link.heal()

    def kill(self, host: str) -> None:
        """The processes of a host are no more: its peers find their connections reset, and new ones refused.

        Whoever runs what was on that host sees to it that it does nothing more.
        """
        for address in [address for address in self.listeners if address[0] == host]:
            del self.listeners[address]
        for connector in self._connectors:
            connector.host_died(host)


class VirtualClient:
    """A client's end of a connection; one request at a time."""

    def __init__(self, network: VirtualNetwork, name: str, peer: MemoryPeer) -> None:
        self._network = network
        self._name = name
        self._peer = peer
        self._correlation_id = 0

    async def call(self, request: Message, version: int) -> Any:
        """The response to a request. Raises ConnectionError when the broker ends the connection."""
        self._correlation_id += 1
        left = request_frame(request, version, self._correlation_id, self._name)
        while left:
            await self._network.delay()
            size = self._piece(len(left))
            self._tell("sends", left[:size])
            self._peer.send(left[:size])
            left = left[size:]
        frame = await self._peer.frame()
        await self._network.delay()
        self._tell("receives", frame)
        return response_in(frame, type(request), version)

    def _piece(self, size: int) -> int:
        """How much of so many bytes arrives together."""
        random = self._network.random
        return size if random.random() < 0.8 else random.randint(1, size)

    def _tell(self, what: str, data: bytes) -> None:
        self._network.told(f"{self._name} {what} {data.hex()}")

    def close(self) -> None:
        """End the connection."""
        self._peer.close()
