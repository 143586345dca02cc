"""The end of a broker's process is seen when it happens; a silence, or an ended connection, is none."""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING

from kcompat.cluster.image import BrokerInfo
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.config.broker import BrokerConfig, ConfigFeed
from kcompat.controller.state import RegisteredBroker
from kcompat.net.hub import Hub
from kcompat.peer.failure_detector import FailureDetector
from kcompat.peer.peers import Peers
from support.scripted_broker import ScriptedBroker
from support.virtual_loop import VirtualLoopClock, run_virtually
from support.virtual_network import VirtualNetwork

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from kcompat.net.listener import BoundListener
    from support.virtual_loop import VirtualLoop


class Scene:
    """Broker 1 watches over 2 and 3."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.loop = loop
        self.network = VirtualNetwork(Random(1), lambda _: None)
        clock = VirtualLoopClock(loop)
        config = ConfigFeed(BrokerConfig({}))
        ports = (self.network.connector("broker-1"), clock, Random(2))
        self.seen: list[Mapping[int, int]] = []
        self.times: list[float] = []
        self.failure_detector = FailureDetector(Peers(1, config, MetadataCache(""), ports), self.note)
        self.hubs: dict[int, Hub] = {}
        self.listeners: dict[int, BoundListener] = {}
        for number in (2, 3):
            self.listen(number)

    def note(self, gone: Mapping[int, int]) -> None:
        self.seen.append(gone)
        self.times.append(self.loop.time())

    def listen(self, number: int) -> None:
        self.hubs[number] = Hub(self.loop)
        self.listeners[number] = self.network.bind("PLAINTEXT", f"broker-{number}", 9092)
        self.listeners[number].start(self.hubs[number], ScriptedBroker(lambda _: None))

    def follow(self, **epochs: int) -> None:
        self.failure_detector.follow(
            {int(name[1:]): registered(int(name[1:]), epoch) for name, epoch in epochs.items()}
        )


def registered(number: int, epoch: int) -> RegisteredBroker:
    info = BrokerInfo(number, None, {"PLAINTEXT": (f"broker-{number}", 9092)})
    return RegisteredBroker(info, epoch)


def play(scene: Callable[[Scene], Awaitable[None]]) -> None:
    async def program(loop: VirtualLoop) -> None:
        await scene(Scene(loop))

    run_virtually(program)


def test_a_process_that_is_killed_is_seen_within_a_tenth_of_a_second_and_once() -> None:
    async def scene(scene: Scene) -> None:
        scene.follow(b2=10, b3=11)
        await asyncio.sleep(100)
        assert not scene.seen
        scene.network.kill("broker-3")
        await asyncio.sleep(100)
        assert scene.seen == [{3: 11}]
        assert scene.times[0] < 100.1
        assert len(scene.hubs[2].connections) == 1

    play(scene)


def test_a_broker_that_never_listened_is_seen_as_well() -> None:
    async def scene(scene: Scene) -> None:
        scene.listeners[2].close()
        scene.follow(b2=10)
        await asyncio.sleep(1)
        assert scene.seen == [{2: 10}]

    play(scene)


def test_one_that_accepts_again_was_not_dead_and_can_die_again() -> None:
    async def scene(scene: Scene) -> None:
        scene.follow(b2=10)
        await asyncio.sleep(1)
        scene.network.kill("broker-2")
        await asyncio.sleep(1)
        assert scene.seen == [{2: 10}]
        scene.listen(2)
        await asyncio.sleep(2)
        assert scene.seen == [{2: 10}, {}]
        scene.network.kill("broker-2")
        await asyncio.sleep(2)
        assert scene.seen == [{2: 10}, {}, {2: 10}]

    play(scene)


def test_all_that_are_gone_are_told_of_together() -> None:
    async def scene(scene: Scene) -> None:
        scene.follow(b2=10, b3=11)
        await asyncio.sleep(1)
        scene.network.kill("broker-2")
        await asyncio.sleep(1)
        scene.network.kill("broker-3")
        await asyncio.sleep(1)
        scene.listen(2)
        await asyncio.sleep(2)
        scene.follow(b2=10)
        scene.network.kill("broker-2")
        await asyncio.sleep(1)
        assert scene.seen == [{2: 10}, {2: 10, 3: 11}, {3: 11}, {2: 10}]

    play(scene)


def test_nobody_watches_over_itself() -> None:
    async def scene(scene: Scene) -> None:
        scene.follow(b1=9)
        await asyncio.sleep(10)
        assert not scene.seen

    play(scene)


def test_a_host_that_is_silent_is_not_taken_for_dead() -> None:
    async def scene(scene: Scene) -> None:
        scene.follow(b2=10)
        await asyncio.sleep(1)
        scene.network.isolate("broker-2", ["broker-1"])
        await asyncio.sleep(100)
        scene.hubs[2].stop()
        await asyncio.sleep(100)
        assert not scene.seen

    play(scene)


def test_a_connection_that_a_living_broker_ends_is_made_again() -> None:
    async def scene(scene: Scene) -> None:
        scene.follow(b2=10)
        await asyncio.sleep(1)
        for connection in list(scene.hubs[2].connections):
            connection.close("idle")
        await asyncio.sleep(1)
        assert not scene.seen
        assert len(scene.hubs[2].connections) == 1

    play(scene)


def test_a_broker_that_came_back_is_watched_over_anew() -> None:
    async def scene(scene: Scene) -> None:
        scene.follow(b2=10)
        await asyncio.sleep(1)
        scene.network.kill("broker-2")
        await asyncio.sleep(1)
        scene.listen(2)
        scene.follow(b2=12)
        await asyncio.sleep(1)
        assert len(scene.hubs[2].connections) == 1
        scene.network.kill("broker-2")
        await asyncio.sleep(1)
        assert scene.seen == [{2: 10}, {2: 12}]

    play(scene)


def test_nobody_is_watched_over_in_the_end() -> None:
    async def scene(scene: Scene) -> None:
        scene.follow(b2=10, b3=11)
        await asyncio.sleep(1)
        scene.failure_detector.close()
        scene.network.kill("broker-2")
        await asyncio.sleep(10)
        assert not scene.seen
        assert not scene.hubs[3].connections

    play(scene)
