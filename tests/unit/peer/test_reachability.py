"""A broker that was killed is in doubt at once, and no other for longer than a second."""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING

from kcompat.cluster.control_requests import UpdateMetadata
from kcompat.cluster.image import BrokerInfo
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.config.broker import BrokerConfig, ConfigFeed
from kcompat.net.hub import Hub
from kcompat.peer.peers import Peers
from kcompat.peer.reachability import DOUBT_MS, Reachability
from support.scripted_broker import ScriptedBroker
from support.virtual_loop import VirtualLoopClock, run_virtually
from support.virtual_network import VirtualNetwork

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from support.virtual_loop import VirtualLoop

SECOND = DOUBT_MS / 1000


class Scene:
    """Broker 1 asks about brokers 2 and 3, which its cluster image has."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.loop = loop
        self.network = VirtualNetwork(Random(1), lambda _: None)
        clock = VirtualLoopClock(loop)
        self.cluster = MetadataCache("")
        ports = (self.network.connector("broker-1"), clock, Random(2))
        peers = Peers(1, ConfigFeed(BrokerConfig({})), self.cluster, ports)
        self.found = 0
        self.reachability = Reachability(peers, clock, self.note)
        self.hubs: dict[int, Hub] = {}
        self.show(1, 2, 3)
        for number in (2, 3):
            self.listen(number)

    def note(self) -> None:
        self.found += 1

    def listen(self, number: int) -> None:
        hub = self.hubs[number] = Hub(self.loop)
        listener = self.network.bind("PLAINTEXT", f"broker-{number}", 9092)
        listener.start(hub, ScriptedBroker(lambda _: None))

    def show(self, *numbers: int) -> None:
        brokers = {
            number: BrokerInfo(number, None, {"PLAINTEXT": (f"broker-{number}", 9092)}) for number in numbers
        }
        self.cluster.apply(UpdateMetadata(1, 1, brokers))

    def seen(self, number: int) -> tuple[bool, bool]:
        return self.reachability.is_doubtful(number), self.reachability.is_refused(number)


DOUBTFUL, DOUBTFUL_AND_REFUSED, REFUSED, FINE = (True, False), (True, True), (False, True), (False, False)


def play(scene: Callable[[Scene], Awaitable[None]]) -> None:
    async def program(loop: VirtualLoop) -> None:
        await scene(Scene(loop))

    run_virtually(program)


def test_one_that_is_there_is_in_doubt_until_the_first_connection() -> None:
    async def scene(scene: Scene) -> None:
        assert scene.seen(2) == DOUBTFUL
        await asyncio.sleep(0.1)
        assert scene.found == 1
        assert scene.seen(2) == FINE
        assert len(scene.hubs[2].connections) == 1
        assert not scene.hubs[3].connections

    play(scene)


def test_no_broker_doubts_itself() -> None:
    async def scene(scene: Scene) -> None:
        assert scene.seen(1) == FINE

    play(scene)


def test_one_that_is_killed_is_in_doubt_at_once_and_for_a_second() -> None:
    async def scene(scene: Scene) -> None:
        scene.seen(2)
        await asyncio.sleep(10)
        scene.network.kill("broker-2")
        await asyncio.sleep(0.02)
        assert scene.seen(2) == DOUBTFUL_AND_REFUSED
        await asyncio.sleep(SECOND - 0.03)
        assert scene.seen(2) == DOUBTFUL_AND_REFUSED
        await asyncio.sleep(0.02)
        assert scene.seen(2) == REFUSED

    play(scene)


def test_one_that_comes_back_is_reached_and_can_be_killed_again() -> None:
    async def scene(scene: Scene) -> None:
        scene.seen(2)
        await asyncio.sleep(1)
        scene.network.kill("broker-2")
        await asyncio.sleep(3)
        scene.listen(2)
        await asyncio.sleep(2)
        assert scene.found == 2
        assert scene.seen(2) == FINE
        scene.network.kill("broker-2")
        await asyncio.sleep(0.02)
        assert scene.seen(2) == DOUBTFUL_AND_REFUSED

    play(scene)


def test_one_that_left_the_image_and_is_back_is_asked_about_anew() -> None:
    async def scene(scene: Scene) -> None:
        scene.seen(2)
        await asyncio.sleep(1)
        scene.network.kill("broker-2")
        await asyncio.sleep(1.5)
        scene.show(1, 3)
        scene.listen(2)
        scene.show(1, 2, 3)
        assert scene.seen(2) == DOUBTFUL
        await asyncio.sleep(0.02)
        assert scene.seen(2) == FINE

    play(scene)


def test_a_silent_host_is_in_doubt_for_a_second_and_not_refused() -> None:
    async def scene(scene: Scene) -> None:
        scene.network.isolate("broker-2", ["broker-1"])
        assert scene.seen(2) == DOUBTFUL
        await asyncio.sleep(SECOND - 0.01)
        assert scene.seen(2) == DOUBTFUL
        await asyncio.sleep(0.02)
        assert scene.seen(2) == FINE

    play(scene)


def test_a_connection_that_a_living_broker_ends_is_made_again() -> None:
    async def scene(scene: Scene) -> None:
        scene.seen(2)
        await asyncio.sleep(5)
        for connection in list(scene.hubs[2].connections):
            connection.close("idle")
        await asyncio.sleep(0.1)
        assert scene.seen(2) == FINE
        assert scene.found == 2

    play(scene)
