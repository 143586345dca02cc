"""Connections between brokers of a simulation: in order, late, cut, healed, refused and reset."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from kcompat.net.hub import Hub
from kcompat.net.outbound import Ending
from support.heard import Heard
from support.raw_peer import ScriptedHandler, framed
from support.virtual_links import Link
from support.virtual_loop import run_virtually
from support.virtual_network import VirtualNetwork

THERE = ("there", 9092)


class Scene:
    """Somebody listens `there`; `heard` is what a connection from `here` hears."""

    def __init__(self, handler=None, *, seed=1):
        self.told = []
        self.network = VirtualNetwork(Random(seed), self.told.append)
        self.handler = handler or ScriptedHandler()
        self.hub = Hub(asyncio.get_running_loop())
        self.heard = Heard()
        self.listener = self.network.bind("PLAINTEXT", *THERE)
        self.listener.start(self.hub, self.handler)

    def connect(self, address=THERE, **options):
        options = {"timeout_ms": 1000, "max_frame": 10_000_000, **options}
        return self.network.connector("here")(address, self.heard, **options)


def play(scene, **options):
    """Run `scene(Scene)` on virtual time."""

    async def program(loop):
        return await scene(Scene(**options))

    return run_virtually(program)


def test_frames_arrive_in_order_and_late():
    bodies = [Random(size).randbytes(size) for size in (1, 300_000, 7, 65_536)]

    async def scene(scene):
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


def test_nobody_there_refuses():
    async def scene(scene):
        scene.connect(("there", 1))
        await asyncio.sleep(0.02)
        assert scene.heard.events == [Ending.REFUSED]

    play(scene)


@pytest.mark.parametrize("way", [("here", "there"), ("there", "here")])
def test_a_cut_link_is_silent_and_goes_on_once_healed(way):
    async def scene(scene):
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


def test_connecting_over_a_cut_link_times_out():
    async def scene(scene):
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


def test_one_way_is_slowed_and_not_the_other():
    async def scene(scene):
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


def test_a_peer_that_closes_is_told():
    async def scene(scene):
        scene.connect()
        await asyncio.sleep(0.02)
        scene.hub.stop()
        await asyncio.sleep(0.02)
        assert scene.heard.events == ["connected", Ending.CLOSED]

    play(scene)


def test_a_killed_host_resets_what_it_had_and_refuses_what_comes():
    async def scene(scene):
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


def test_a_host_that_is_killed_leaves_its_peers():
    async def scene(scene):
        scene.connect()
        await asyncio.sleep(0.02)
        assert scene.hub.connections
        scene.network.kill("here")
        await asyncio.sleep(0.02)
        assert not scene.hub.connections
        assert scene.heard.events == ["connected"]

    play(scene)


def test_a_frame_above_the_limit_ends_the_connection():
    async def scene(scene):
        connection = scene.connect(max_frame=10)
        await asyncio.sleep(0.02)
        connection.send([framed(b"eleven bytes")])
        await asyncio.sleep(0.02)
        assert scene.heard.events == ["connected", Ending.BAD_FRAME]
        await asyncio.sleep(0.02)
        assert not scene.hub.connections

    play(scene)


def test_the_same_seed_has_the_same_history():
    async def scene(scene):
        connection = scene.connect()
        await asyncio.sleep(0.02)
        connection.send([framed(b"ask")])
        await asyncio.sleep(0.02)
        return scene.told, asyncio.get_running_loop().time()

    assert play(scene, seed=5) == play(scene, seed=5)
    assert play(scene, seed=5)[0]


def test_a_link_keeps_the_order_whatever_the_delays():
    async def program(loop):
        arrived = []
        link = Link(Random(3), 1.0)
        for number in range(50):
            link.carry(lambda number=number: arrived.append(number))
        await asyncio.sleep(1.001)
        assert arrived == list(range(50))

    run_virtually(program)
