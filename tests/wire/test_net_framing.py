"""Frames arrive whole and in order however they are cut."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import suppress

import pytest

from kcompat.net.answers import Mode, Waiting
from kcompat.net.hub import SCRATCH_SIZE
from kcompat.net.limits import Limits
from kcompat.promise import Promise
from support.raw_peer import RawPeer, ScriptedHandler, framed, peer_of, serving, until

pytestmark = pytest.mark.usefixtures("either_poll")


async def settle(peer: RawPeer) -> None:
    """Have the server read what was sent so far."""
    with suppress(ConnectionError):
        await peer.writer.drain()
    for _ in range(3):
        await asyncio.sleep(0)


async def test_frames_cut_at_every_point():
    bodies = [b"a", b"bcd", b"e" * 9]
    stream = b"".join(map(framed, bodies))
    handler = ScriptedHandler()
    async with serving(handler) as server, peer_of(server) as peer:
        for cut in range(1, len(stream)):
            handler.frames.clear()
            peer.send(stream[:cut])
            await handler.until_frames((cut >= 5) + (cut >= 12))
            await settle(peer)
            assert handler.frames == bodies[: len(handler.frames)]
            assert len(handler.frames) == (cut >= 5) + (cut >= 12)
            peer.send(stream[cut:])
            assert await peer.frames(3) == bodies
        assert server.hub.memory.used == 0


async def test_frames_sent_byte_by_byte():
    handler = ScriptedHandler()
    async with serving(handler) as server, peer_of(server) as peer:
        peer.writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in framed(b"slow") + framed(b"and steady"):
            peer.send(bytes([byte]))
            await settle(peer)
        assert await peer.frames(2) == [b"slow", b"and steady"]


@pytest.mark.parametrize(
    "size", [64 * 1024 - 4, 64 * 1024, 1_000_000, SCRATCH_SIZE - 4, SCRATCH_SIZE - 3, SCRATCH_SIZE, 5_000_000]
)
async def test_big_frames_arrive_unharmed_between_small_ones(size):
    big = bytes(range(256)) * (size // 256 + 1)
    bodies = [b"before", big[:size], b"between", big[1 : size + 1], b"after"]
    handler = ScriptedHandler(lambda _, frame: [framed(struct.pack(">i", len(frame)))])
    async with serving(handler) as server, peer_of(server) as peer:
        peer.ask(*bodies)
        assert [struct.unpack(">i", body)[0] for body in await peer.frames(5)] == list(map(len, bodies))
        assert handler.frames == bodies
        assert server.hub.memory.used == 0


async def test_big_buffers_are_reused():
    handler = ScriptedHandler(lambda _, frame: [framed(b"ok")])
    async with serving(handler) as server, peer_of(server) as peer:
        for _ in range(5):
            peer.ask(bytes(1_000_000))
            await peer.frame()
        assert server.hub.buffers.free_bytes < 3_000_000


async def test_thousands_of_pipelined_frames_come_back_in_order():
    bodies = [b"%d" % n * (n % 50 + 1) for n in range(5000)]
    async with serving(ScriptedHandler()) as server, peer_of(server) as peer:
        peer.ask(*bodies)
        assert await peer.frames(len(bodies)) == bodies


async def test_answers_of_one_read_event_leave_in_one_segment():
    async with serving(ScriptedHandler()) as server, peer_of(server) as peer:
        peer.ask(b"warm")
        await peer.frame()
        peer.ask(b"one", b"two", b"three")
        assert await peer.reader.read(65536) == framed(b"one") + framed(b"two") + framed(b"three")


async def test_a_frame_may_be_patched_in_place():
    def patch(_, frame):
        frame[0:3] = b"new"
        return [framed(bytes(frame))]

    async with serving(ScriptedHandler(patch)) as server, peer_of(server) as peer:
        peer.ask(b"old one", b"old two")
        assert await peer.frames(2) == [b"new one", b"new two"]


async def test_no_answer_and_empty_answer_send_nothing():
    answers = {b"none": None, b"empty": []}
    handler = ScriptedHandler(lambda _, frame: answers.get(bytes(frame), [framed(b"yes")]))
    async with serving(handler) as server, peer_of(server) as peer:
        peer.ask(b"none", b"empty", b"some", b"none")
        assert await peer.frame() == b"yes"
        await handler.until_frames(4)
        peer.ask(b"some")
        assert await peer.frame() == b"yes"


async def test_connections_know_both_ends():
    handler = ScriptedHandler()
    async with serving(handler) as server, peer_of(server) as peer:
        peer.ask(b"x")
        await peer.frame()
        (connection,) = handler.connections
        assert (connection.peer_host, connection.peer_port) == peer.writer.get_extra_info("sockname")
        assert connection.local_address == peer.writer.get_extra_info("peername")
        assert connection.listener_name == "PLAINTEXT"


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n",
        bytes.fromhex("16030100c8010000c40303") + bytes(200),  # a TLS hello
        struct.pack(">i", -1),
        struct.pack(">i", -(2**31)),
        struct.pack(">i", 0),
        struct.pack(">i", 2**31 - 1) + b"body",
        struct.pack(">i", 1001) + bytes(1001),
    ],
)
@pytest.mark.parametrize("chunk", [1, 1000])
async def test_garbage_closes_the_connection_behind_earlier_answers(garbage, chunk):
    handler = ScriptedHandler()
    async with serving(handler, Limits(max_frame=1000)) as server, peer_of(server) as peer:
        peer.ask(b"before")
        assert await peer.frame() == b"before"
        for start in range(0, min(len(garbage), 8), chunk):
            peer.send(garbage[start : start + chunk])
            await settle(peer)
        assert await peer.rest() == b""
        assert handler.frames == [b"before"]
        assert server.hub.closed == {"bad frame length": 1}
        assert server.hub.memory.used == 0


async def test_answers_before_garbage_in_one_segment_still_go_out():
    async with serving(ScriptedHandler()) as server, peer_of(server) as peer:
        peer.send(framed(b"fine") + b"\xff\xff\xff\xff")
        assert await peer.rest() == framed(b"fine")


async def test_an_exception_is_logged_once_and_closes_that_connection_alone(caplog):
    def fail_on_bad(_, frame):
        if frame == b"bad":
            raise RuntimeError("a bug")
        return [framed(bytes(frame))]

    handler = ScriptedHandler(fail_on_bad)
    async with serving(handler) as server, peer_of(server) as other, peer_of(server) as peer:
        other.ask(b"here")
        assert await other.frame() == b"here"
        peer.ask(b"good", b"bad", b"never seen")
        assert await peer.rest() == framed(b"good")
        other.ask(b"still here")
        assert await other.frame() == b"still here"
    assert handler.frames == [b"here", b"good", b"bad", b"still here"]
    assert [record.exc_info[1].args for record in caplog.records if record.exc_info] == [("a bug",)]


async def test_an_exception_at_a_frame_that_came_alone_closes_that_connection_alone(caplog):
    def fail(_, frame):
        raise RuntimeError("a bug")

    handler = ScriptedHandler(fail)
    async with serving(handler) as server, peer_of(server) as peer:
        peer.ask(b"bad")
        assert await peer.rest() == b""
        assert server.hub.closed == {"failed request": 1}
    assert [record.exc_info[1].args for record in caplog.records if record.exc_info] == [("a bug",)]


class Untold(ScriptedHandler):
    """A handler that answers frames later, and fails when it is asked whether a frame ends the wait."""

    def __init__(self) -> None:
        super().__init__(lambda _, frame: Waiting(Promise(), Mode.INTERRUPTIBLE, lambda: None))

    def ends_wait(self, frame: memoryview) -> bool:
        raise RuntimeError("a bug")


async def test_any_other_exception_closes_that_connection_alone_and_is_logged_once(caplog):
    async with serving(Untold()) as server, peer_of(server) as peer, peer_of(server) as other:
        peer.ask(b"one", b"two")
        other.ask(b"alive")
        assert await peer.rest() == b""
        await until(lambda: server.hub.closed == {"failed connection": 1})
        assert len(server.hub.connections) == 1
        server.hub.memory.check_invariants()
    assert [record.exc_info[1].args for record in caplog.records if record.exc_info] == [("a bug",)]


class Unmade:
    """Bytes that cannot be made while they are sent."""

    def __len__(self) -> int:
        return 100_000

    def next_piece(self) -> bytes:
        raise RuntimeError("a bug")


async def test_an_answer_that_cannot_be_made_closes_that_connection_alone_and_is_logged_once(caplog):
    handler = ScriptedHandler(lambda _, frame: [Unmade()])
    async with serving(handler) as server, peer_of(server) as peer:
        peer.ask(b"bad")
        assert await peer.rest() == b""
        assert server.hub.closed == {"failed answer": 1}
    assert [record.exc_info[1].args for record in caplog.records if record.exc_info] == [("a bug",)]


async def test_a_frame_that_came_alone_is_no_bigger_than_allowed():
    handler = ScriptedHandler()
    async with serving(handler, Limits(max_frame=10)) as server, peer_of(server) as peer:
        peer.ask(b"0123456789")
        assert await peer.frame() == b"0123456789"
        peer.ask(b"01234567890")
        assert await peer.rest() == b""
    assert handler.frames == [b"0123456789"]
