"""Frames come to lie where their handler wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.net.placing import misfit
from support.raw_peer import RawPeer, ScriptedHandler, framed, peer_of, serving, until

if TYPE_CHECKING:
    from kcompat.net.answers import Answer, Connection
    from kcompat.net.server import Server

pytestmark = pytest.mark.usefixtures("either_poll")

HEAD = 57
"""Bytes of a frame in front of what is written."""
BODY = bytes(range(256)) * 1200 + b"odd"


class Writer(ScriptedHandler):
    """Writes what it gets to a file that it only imagines."""

    def __init__(self) -> None:
        super().__init__(self.write)
        self.position = 0
        self.misfits: list[int] = []

    def write(self, connection: Connection, frame: memoryview) -> Answer:
        data = frame[HEAD:]
        self.misfits.append(misfit(data, self.position))
        self.position += len(data)
        connection.place_next(data, self.position)
        return [framed(b"ok")]


async def send_whole(server: Server, peer: RawPeer, body: bytes) -> None:
    peer.ask(body)
    await peer.frame()


async def send_in_two(server: Server, peer: RawPeer, body: bytes) -> None:
    peer.send(framed(body)[: len(body) // 2])
    await until(lambda: server.hub.memory.used)
    peer.send(framed(body)[len(body) // 2 :])
    await peer.frame()
    assert server.hub.memory.used == 0


async def test_a_frame_that_comes_whole_lies_where_its_data_goes_on():
    writer = Writer()
    async with serving(writer) as server, peer_of(server) as peer:
        for size in (1000, 1003, 1500, 999, 20_001):
            await send_whole(server, peer, BODY[:size])
        assert writer.misfits[1:] == [0, 0, 0, 0]
        assert writer.frames == [BODY[:size] for size in (1000, 1003, 1500, 999, 20_001)]


async def test_so_does_a_big_one_that_comes_in_pieces():
    writer = Writer()
    async with serving(writer) as server, peer_of(server) as peer:
        for _ in range(6):
            await send_in_two(server, peer, BODY)
        # the first was received into a buffer that grew, all others into the one that was left of it
        assert writer.misfits[2:] == [0, 0, 0, 0]
        assert writer.frames == [BODY] * 6


async def test_every_connection_has_a_place_of_its_own():
    writer = Writer()
    async with serving(writer) as server, peer_of(server) as first, peer_of(server) as second:
        await send_whole(server, first, BODY[:1003])
        writer.script = lambda connection, frame: [framed(b"%d" % connection.lead)]
        first.ask(b"where?")
        assert await first.frame() == b"%d" % writer.connections[0].lead != b"0"
        second.ask(b"where?")
        assert await second.frame() == b"0"


async def test_many_small_frames_at_once_are_read_from_there_too():
    writer = Writer()
    bodies = [BODY[:size] for size in range(HEAD + 1, 400)]
    async with serving(writer) as server, peer_of(server) as peer:
        await send_whole(server, peer, BODY[:1003])
        assert writer.connections[0].lead
        stream = b"".join(map(framed, bodies))
        cut = len(stream) - 5  # the last one is held until the rest of it comes
        peer.send(stream[:cut])
        await writer.until_frames(len(bodies))
        peer.send(stream[cut:])
        await peer.frames(len(bodies))
        assert writer.frames[1:] == bodies
