"""The clients of a broker: by broker and purpose, at the addresses of the cluster image."""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.cluster.image import BrokerInfo
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.config.broker import BrokerConfig, ConfigFeed
from kcompat.net.hub import Hub
from kcompat.peer.errors import PeerError, PeerFault
from kcompat.peer.peers import Peers
from kcompat.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from support.outcomes import answer_to
from support.scripted_broker import ScriptedBroker
from support.virtual_loop import VirtualLoopClock, run_virtually
from support.virtual_network import VirtualNetwork

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kcompat.peer.client import PeerClient
    from support.virtual_loop import VirtualLoop

CONFIG = {
    "listeners": "INSIDE://:1,OUTSIDE://:2",
    "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
    "inter.broker.listener.name": "INSIDE",
}


class Scene:
    """Broker 1 and its peers; brokers 2 and 3 listen at two addresses each."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.loop = loop
        self.network = VirtualNetwork(Random(1), lambda _: None)
        self.cluster = MetadataCache("the-cluster")
        ports = (self.network.connector("here"), VirtualLoopClock(loop), Random(2))
        self.peers = Peers(1, ConfigFeed(BrokerConfig(CONFIG)), self.cluster, ports)
        self.hubs: dict[tuple[str, int], Hub] = {}
        self.brokers: dict[tuple[str, int], ScriptedBroker] = {}
        for number in (2, 3):
            for port in (1, 2):
                address = (f"broker-{number}", port)
                self.hubs[address] = Hub(loop)
                self.brokers[address] = ScriptedBroker(lambda _: HeartbeatResponse())
                self.network.bind("L", *address).start(self.hubs[address], self.brokers[address])

    def show(self, **ports: int) -> None:
        """Have the image know these brokers, by the port of their inner listener."""
        brokers = {
            int(name[1:]): BrokerInfo(
                int(name[1:]),
                None,
                {"INSIDE": (f"broker-{name[1:]}", port), "OUTSIDE": (f"broker-{name[1:]}", 3 - port)},
            )
            for name, port in ports.items()
        }
        self.cluster.update(replace(self.cluster.image, brokers=brokers))

    async def beat(self, client: PeerClient) -> PeerFault | None:
        try:
            await answer_to(client.call(HeartbeatRequest(), 1000))
        except PeerError as error:
            return error.fault
        return None

    def connections(self, host: str, port: int) -> int:
        return len(self.hubs[host, port].connections)

    def client_ids(self, host: str, port: int) -> list[str | None]:
        return [asked.client_id for asked in self.brokers[host, port].asked]


def play(scene: Callable[[Scene], Awaitable[None]]) -> None:
    async def program(loop: VirtualLoop) -> None:
        await scene(Scene(loop))

    run_virtually(program)


def test_the_listener_among_brokers_is_connected_to() -> None:
    async def scene(scene: Scene) -> None:
        scene.show(b2=2, b3=1)
        assert await scene.beat(scene.peers.of(2)) is None
        assert await scene.beat(scene.peers.of(3)) is None
        assert scene.connections("broker-2", 2) == scene.connections("broker-3", 1) == 1
        assert scene.connections("broker-2", 1) == scene.connections("broker-3", 2) == 0

    play(scene)


def test_a_purpose_has_its_own_connection_and_kafkas_client_id() -> None:
    async def scene(scene: Scene) -> None:
        scene.show(b2=1)
        peers = scene.peers
        clients = [peers.of(2), peers.of(2, "controller"), peers.fetcher(2, 0), peers.fetcher(2, 1)]
        for client in clients:
            assert await scene.beat(client) is None
        assert scene.client_ids("broker-2", 1) == ["1", "1", "broker-1-fetcher-0", "broker-1-fetcher-1"]
        assert scene.connections("broker-2", 1) == 4
        assert clients == [peers.of(2), peers.of(2, "controller"), peers.fetcher(2, 0), peers.fetcher(2, 1)]

    play(scene)


def test_a_broker_that_is_not_known_cannot_be_asked_until_it_is() -> None:
    async def scene(scene: Scene) -> None:
        client = scene.peers.of(2)
        assert await scene.beat(client) is PeerFault.UNKNOWN
        scene.show(b2=1)
        assert await scene.beat(client) is None
        assert scene.peers.of(2) is client

    play(scene)


def test_a_client_ends_when_its_broker_leaves_the_image() -> None:
    async def scene(scene: Scene) -> None:
        scene.show(b2=1, b3=1)
        client, other = scene.peers.of(2), scene.peers.of(3)
        assert await scene.beat(client) is await scene.beat(other) is None
        scene.show(b3=1)
        await asyncio.sleep(0.1)
        assert scene.connections("broker-2", 1) == 0
        assert scene.connections("broker-3", 1) == 1
        assert await scene.beat(client) is PeerFault.ABANDONED
        assert scene.peers.of(3) is other
        scene.show(b2=1, b3=1)
        assert scene.peers.of(2) is not client
        assert await scene.beat(scene.peers.of(2)) is None

    play(scene)


def test_a_broker_that_moved_is_found_where_it_is_now() -> None:
    async def scene(scene: Scene) -> None:
        scene.show(b2=1)
        client = scene.peers.of(2)
        await scene.beat(client)
        scene.show(b2=2)
        assert scene.peers.of(2) is client
        assert await scene.beat(client) is None
        assert len(scene.client_ids("broker-2", 2)) == 1
        assert scene.connections("broker-2", 1) == 0

    play(scene)


def test_a_broker_can_be_asked_before_the_image_knows_it() -> None:
    async def scene(scene: Scene) -> None:
        client = scene.peers.to(BrokerInfo(3, None, {"INSIDE": ("broker-3", 1)}), "controller")
        assert await scene.beat(client) is None
        client.close()
        await asyncio.sleep(0.1)
        assert scene.connections("broker-3", 1) == 0

    play(scene)


def test_closing_ends_every_client() -> None:
    async def scene(scene: Scene) -> None:
        scene.show(b2=1, b3=1)
        clients = [scene.peers.of(2), scene.peers.fetcher(3, 0)]
        for client in clients:
            await scene.beat(client)
        scene.peers.close()
        await asyncio.sleep(0.1)
        assert not any(hub.connections for hub in scene.hubs.values())
        assert {await scene.beat(client) for client in clients} == {PeerFault.ABANDONED}
        assert await scene.beat(scene.peers.of(2)) == PeerFault.ABANDONED, (
            "of those that are asked for later, too"
        )
        assert not any(hub.connections for hub in scene.hubs.values())

    play(scene)


def test_closing_ends_what_a_failed_call_asks_for_in_return() -> None:
    async def scene(scene: Scene) -> None:
        scene.show(b2=1, b3=1)
        failed: list[PeerClient] = []

        def failed_call(_: Exception) -> None:
            failed.append(scene.peers.of(3, "another purpose"))

        scene.peers.of(2).call(HeartbeatRequest(), 5000).then(lambda _: None, failed_call)
        scene.peers.of(3)
        scene.peers.close()
        assert [client.is_closed for client in failed] == [True]

    play(scene)
