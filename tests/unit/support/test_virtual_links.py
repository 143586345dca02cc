"""Connections between brokers of a simulation: in order, late, cut, healed, refused and reset."""

from __future__ import annotations

import asyncio
from functools import partial
from random import Random
from typing import TYPE_CHECKING, TypeVar

import pytest

from kcompat.net.hub import Hub
from kcompat.net.outbound import Ending
from support.heard import Heard
from support.raw_peer import ScriptedHandler, framed
from support.virtual_links import Link, VirtualOutbound
from support.virtual_loop import run_virtually
from support.virtual_network import VirtualNetwork

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from support.virtual_loop import VirtualLoop

T = TypeVar("T")

THERE = ("there", 9092)


class Scene:
    """Somebody listens `there`; `heard` is what a connection from `here` hears."""

    def __init__(self, *, seed: int) -> None:
        self.told: list[str] = []
        self.network = VirtualNetwork(Random(seed), self.told.append)
        self.handler = ScriptedHandler()
        self.hub = Hub(asyncio.get_running_loop())
        self.heard = Heard()
        self.listener = self.network.bind("PLAINTEXT", *THERE)
        self.listener.start(self.hub, self.handler)

    def connect(
        self, address: tuple[str, int] = THERE, timeout_ms: float = 1000, max_frame: int = 10_000_000
    ) -> VirtualOutbound:
        connector = self.network.connector("here")
        return connector(address, self.heard, timeout_ms=timeout_ms, max_frame=max_frame)


def play(scene: Callable[[Scene], Awaitable[T]], seed: int = 1) -> T:
    """Run `scene(Scene)` on virtual time."""

    async def program(_loop: VirtualLoop) -> T:
        return await scene(Scene(seed=seed))

    return run_virtually(program)


def test_frames_arrive_in_order_and_late() -> None:
    bodies = [Random(size).randbytes(size) for size in (1, 300_000, 7, 65_536)]

    async def scene(scene: Scene) -> None:
        connection = scene.connect()
        assert not scene.heard.events
        await asyncio.sleep(0.02)
        for body in bodies:
            connection.send([framed(body)])
        assert scene.handler.frames == []
        await asyncio.sleep(0.1)
        assert scene.handler.frames == scene.heard.frames == bodies
        connection.close()
        await asyncio.sleep(0.1)
        assert not scene.hub.connections

    play(scene)


def test_nobody_there_refuses() -> None:
    async def scene(scene: Scene) -> None:
        scene.connect(("there", 1))
        await asyncio.sleep(0.02)
        assert scene.heard.events == [Ending.REFUSED]

    play(scene)


@pytest.mark.parametrize("way", [("here", "there"), ("there", "here")])
def test_a_cut_link_is_silent_and_goes_on_once_healed(way: tuple[str, str]) -> None:
    async def scene(scene: Scene) -> None:
        connection = scene.connect()
        await asyncio.sleep(0.02)
        scene.network.link(*way).cut()
        connection.send([framed(b"held up")])
        await asyncio.sleep(10)
        assert scene.heard.events == ["connected"]
        assert scene.handler.frames == ([] if way[0] == "here" else [b"held up"])
        scene.network.heal()
        await asyncio.sleep(0.02)
        assert scene.heard.frames == [b"held up"]

    play(scene)


def test_connecting_over_a_cut_link_times_out() -> None:
    async def scene(scene: Scene) -> None:
        scene.network.isolate("there", ["here"])
        scene.connect(timeout_ms=500)
        await asyncio.sleep(0.499)
        assert not scene.heard.events
        await asyncio.sleep(0.002)
        assert scene.heard.events == [Ending.TIMED_OUT]
        scene.network.heal()
        await asyncio.sleep(1)
        assert len(scene.heard.events) == 1

    play(scene)


def test_one_way_is_slowed_and_not_the_other() -> None:
    async def scene(scene: Scene) -> None:
        connection = scene.connect()
        await asyncio.sleep(0.02)
        scene.network.link("there", "here").slow(100)
        connection.send([framed(b"ask")])
        await asyncio.sleep(0.02)
        assert scene.handler.frames == [b"ask"]
        assert not scene.heard.frames
        await asyncio.sleep(100)
        assert scene.heard.frames == [b"ask"]

    play(scene)


def test_a_peer_that_closes_is_told() -> None:
    async def scene(scene: Scene) -> None:
        scene.connect()
        await asyncio.sleep(0.02)
        scene.hub.stop()
        await asyncio.sleep(0.02)
        assert scene.heard.events == ["connected", Ending.CLOSED]

    play(scene)


def test_a_killed_host_resets_what_it_had_and_refuses_what_comes() -> None:
    async def scene(scene: Scene) -> None:
        connection = scene.connect()
        await asyncio.sleep(0.02)
        connection.send([framed(b"never served")])
        scene.network.kill("there")
        await asyncio.sleep(0.02)
        assert scene.heard.events == ["connected", Ending.RESET]
        assert not scene.handler.frames
        scene.heard.events.clear()
        scene.connect()
        await asyncio.sleep(0.02)
        assert scene.heard.events == [Ending.REFUSED]

    play(scene)


def test_a_host_that_is_killed_leaves_its_peers() -> None:
    async def scene(scene: Scene) -> None:
        scene.connect()
        await asyncio.sleep(0.02)
        assert scene.hub.connections
        scene.network.kill("here")
        await asyncio.sleep(0.02)
        assert not scene.hub.connections
        assert scene.heard.events == ["connected"]

    play(scene)


def test_a_frame_above_the_limit_ends_the_connection() -> None:
    async def scene(scene: Scene) -> None:
        connection = scene.connect(max_frame=10)
        await asyncio.sleep(0.02)
        connection.send([framed(b"eleven bytes")])
        await asyncio.sleep(0.02)
        assert scene.heard.events == ["connected", Ending.BAD_FRAME]
        await asyncio.sleep(0.02)
        assert not scene.hub.connections

    play(scene)


def test_the_same_seed_has_the_same_history() -> None:
    async def scene(scene: Scene) -> tuple[list[str], float]:
        connection = scene.connect()
        await asyncio.sleep(0.02)
        connection.send([framed(b"ask")])
        await asyncio.sleep(0.02)
        return scene.told, asyncio.get_running_loop().time()

    assert play(scene, seed=5) == play(scene, seed=5)
    assert play(scene, seed=5)[0]


def test_a_link_keeps_the_order_whatever_the_delays() -> None:
    async def program(_loop: VirtualLoop) -> None:
        arrived: list[int] = []
        link = Link(Random(3), 1.0)
        for number in range(50):
            link.carry(partial(arrived.append, number))
        await asyncio.sleep(1.001)
        assert arrived == list(range(50))

    run_virtually(program)
