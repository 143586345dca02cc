"""Big answers, file ranges and slow readers."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import struct
import tempfile
from contextlib import AsyncExitStack

import pytest

from kcompat.net.limits import Limits
from kcompat.net.sizes import MIB
from support.raw_peer import ScriptedHandler, framed, make_poller, peer_of, serving, until

pytestmark = pytest.mark.usefixtures("either_poll")


class Range:
    """Bytes of a file, as the log gives them."""

    def __init__(self, file, position, length):
        self.file, self.position, self.length = file, position, length

    def fileno(self):
        return self.file.fileno()

    def __len__(self):
        return self.length


@pytest.fixture
def data():
    return random.Random(7).randbytes(9 * MIB)


@pytest.fixture
def file(data):
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        yield file


def answer_of(*pieces):
    return [struct.pack(">i", sum(map(len, pieces))), *pieces]


@pytest.mark.parametrize("length", [1, 1000, 16383, 16384, 16385, MIB + 1, 8 * MIB + 12345])
async def test_file_ranges_arrive_between_buffers(file, data, length):
    handler = ScriptedHandler(
        lambda *_: answer_of(b"head", Range(file, 77, length), b"middle", Range(file, 5, 9))
    )
    async with serving(handler) as server, peer_of(server) as peer:
        peer.ask(b"fetch", b"fetch again")
        expected = b"head" + data[77 : 77 + length] + b"middle" + data[5:14]
        assert await peer.frames(2) == [expected, expected]
        await until(lambda: handler.connections[0]._out is None)


async def test_many_ranges_and_buffers_in_one_answer(file, data):
    chosen = random.Random(3)
    ranges = [(chosen.randrange(MIB), chosen.choice([1, 100, 20_000, 90_000])) for _ in range(150)]
    pieces = [piece for at, size in ranges for piece in (b"%d:" % at, Range(file, at, size))]
    async with serving(ScriptedHandler(lambda *_: answer_of(*pieces))) as server, peer_of(server) as peer:
        peer.ask(b"fetch")
        assert await peer.frame() == b"".join(b"%d:" % at + data[at : at + size] for at, size in ranges)


async def test_many_buffers_in_one_answer(data):
    sizes = [0, 1, 65536, 65537, 200_000] * 40
    views = [memoryview(data)[:size] for size in sizes]
    async with serving(ScriptedHandler(lambda *_: answer_of(*views))) as server, peer_of(server) as peer:
        peer.ask(b"fetch")
        assert await peer.frame() == b"".join(data[:size] for size in sizes)


class Stingy:
    """A poller that sends a few bytes of a file only, or nothing."""

    def __init__(self, poller):
        self.poller = poller
        self.chosen = random.Random(1)

    def __getattr__(self, name):
        return getattr(self.poller, name)

    def send_file(self, sock, file, position, count):
        if self.chosen.random() < 0.3:
            raise BlockingIOError
        return self.poller.send_file(sock, file, position, min(count, self.chosen.randrange(1, 50_000)))


async def test_short_sends_through_a_small_socket_buffer(file, data):
    handler = ScriptedHandler(lambda *_: answer_of(data[:300_000], Range(file, 3, 700_000), b"tail"))
    async with serving(handler, make_poller=lambda hub: Stingy(make_poller(hub))) as server:
        server.listeners[0]._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        async with peer_of(server) as peer:
            peer.ask(b"fetch", b"fetch")
            expected = data[:300_000] + data[3:700_003] + b"tail"
            assert await peer.frames(2) == [expected, expected]


async def test_a_slow_reader_stops_the_handing_on_and_then_gets_everything(data):
    answer = framed(data[:100_000])
    handler = ScriptedHandler(lambda *_: [answer])
    async with serving(handler) as server, peer_of(server) as peer:
        peer.writer.transport.pause_reading()
        peer.ask(*[b"fetch"] * 500)
        await until(lambda: handler.connections and handler.connections[0]._out is not None)
        assert len(handler.frames) < 500
        assert handler.connections[0]._out.memory <= len(answer)
        peer.writer.transport.resume_reading()
        assert await peer.frames(500) == [data[:100_000]] * 500


async def test_small_answers_to_single_requests_survive_a_full_socket(data):
    """Each request comes alone and is answered at once, until the socket takes a part and then nothing."""
    answers = [data[at : at + 60_000] for at in range(0, 6 * MIB, 60_000)]
    handler = ScriptedHandler(lambda _, frame: [framed(answers[int(frame)])])
    async with serving(handler) as server, peer_of(server) as peer:
        peer.writer.transport.pause_reading()
        asked = 0
        while not (handler.connections and handler.connections[0]._out is not None):
            peer.ask(b"%d" % asked)
            asked += 1
            await handler.until_frames(asked)
        peer.writer.transport.resume_reading()
        assert await peer.frames(asked) == answers[:asked]
        peer.ask(b"0")
        assert await peer.frame() == answers[0]


async def test_a_peer_that_left_before_its_answer_costs_the_others_nothing():
    """Sending to it fails; answers that leave in the same group arrive."""
    peers = []

    def script(_, frame):
        if frame == b"last":
            for peer in peers[:-1]:
                peer.reset()
        return [framed(bytes(frame))]

    handler = ScriptedHandler(script)
    async with serving(handler) as server, AsyncExitStack() as stack:
        peers += [ResettingPeer(server) for _ in range(5)]
        stack.enter_context(contextlib.closing(peers[-1]))
        await until(lambda: len(server.hub.connections) == len(peers))
        for peer in peers[:-1]:
            peer.socket.sendall(framed(b"first"))
        peers[-1].socket.sendall(framed(b"last"))
        await until(lambda: server.hub.closed["disconnected"] == len(peers) - 1)
        assert peers[-1].socket.recv(100) == framed(b"last")
    assert sorted(handler.frames) == [b"first"] * 4 + [b"last"]


class ResettingPeer:
    """A blocking socket that may close with a reset."""

    def __init__(self, server):
        self.socket = socket.create_connection((server.listeners[0].host, server.listeners[0].port))

    def reset(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self):
        self.socket.close()


async def test_a_big_answer_does_not_keep_others_waiting(file):
    handler = ScriptedHandler(
        lambda _, frame: answer_of(Range(file, 0, 8 * MIB)) if frame == b"fetch" else [framed(b"quick")]
    )
    async with serving(handler) as server, peer_of(server) as bulk, peer_of(server) as quick:
        quick.ask(b"warm")
        await quick.frame()
        bulk.ask(*[b"fetch"] * 4)
        await handler.until_frames(2)
        quick.ask(b"ping")
        assert await quick.frame() == b"quick"
        assert handler.frames.count(b"fetch") < 4
        assert [len(frame) for frame in await bulk.frames(4)] == [8 * MIB] * 4


async def test_a_peer_that_never_reads_is_closed(data):
    handler = ScriptedHandler(lambda *_: [framed(data)])
    async with serving(handler, Limits(write_deadline_s=0.1)) as server, peer_of(server) as peer:
        peer.writer.transport.pause_reading()
        peer.ask(*[b"fetch"] * 10)
        await until(lambda: server.hub.closed["slow reader"])
        assert not server.hub.connections


async def test_too_much_unsent_memory_closes(data, caplog):
    handler = ScriptedHandler(lambda *_: [framed(data)] * 3)
    async with serving(handler, Limits(max_unsent=10 * MIB)) as server, peer_of(server) as peer:
        peer.writer.transport.pause_reading()
        peer.ask(b"fetch")
        await until(lambda: server.hub.closed["too many unsent answers"])
        assert caplog.messages == ["127.0.0.1: connection closed: too many unsent answers"]


@pytest.mark.parametrize("length", [1000, 100_000])
async def test_a_file_that_became_too_short_closes(file, length, caplog):
    handler = ScriptedHandler(lambda *_: answer_of(Range(file, 9 * MIB - 500, length)))
    async with serving(handler) as server, peer_of(server) as peer:
        peer.ask(b"fetch")
        assert len(await peer.rest()) < length
        assert server.hub.closed == {"failed answer": 1}
    assert "the file ended" in caplog.text


async def test_a_peer_that_resets_under_a_big_answer_is_forgotten(file):
    handler = ScriptedHandler(lambda *_: answer_of(Range(file, 0, 8 * MIB)))
    async with serving(handler) as server:
        async with peer_of(server) as peer:
            sock = peer.writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            peer.ask(*[b"fetch"] * 5)
            await handler.until_frames(1)
            peer.writer.transport.abort()
        await until(lambda: server.hub.closed["disconnected"])
        await asyncio.sleep(0)


class Lazy:
    """Bytes that are made while they are sent; `made` is how many are by now."""

    def __init__(self, data, step):
        self.data, self.step, self.made = data, step, 0

    def __len__(self):
        return len(self.data)

    def next_piece(self):
        piece = self.data[self.made : self.made + self.step]
        self.made += len(piece)
        return piece


@pytest.mark.parametrize("step", [1000, 128 * 1024, 20 * MIB])
async def test_what_is_made_while_it_is_sent_arrives_between_buffers(file, data, step):
    handler = ScriptedHandler(
        lambda *_: answer_of(
            b"head", Lazy(data[: 2 * MIB], step), b"middle", Range(file, 5, 99999), Lazy(b"x", 1), b"tail"
        )
    )
    async with serving(handler) as server, peer_of(server) as peer:
        peer.ask(b"fetch", b"fetch again")
        expected = b"head" + data[: 2 * MIB] + b"middle" + data[5:100004] + b"xtail"
        assert await peer.frames(2) == [expected, expected]
        await until(lambda: handler.connections[0]._out is None)


async def test_a_slow_reader_has_nothing_made_ahead(data):
    lazies = [Lazy(data, 128 * 1024) for _ in range(4)]
    handler = ScriptedHandler(lambda *_: answer_of(*lazies))
    async with serving(handler) as server, peer_of(server) as peer:
        peer.writer.transport.pause_reading()
        peer.ask(b"fetch")
        await until(lambda: handler.connections and handler.connections[0]._out is not None)
        assert lazies[-1].made == 0
        assert handler.connections[0]._out.memory <= 128 * 1024
        peer.writer.transport.resume_reading()
        assert await peer.frames(1) == [data * 4]


class Broken(Lazy):
    def next_piece(self):
        raise OSError(5, "the disk")


@pytest.mark.parametrize("lazy", [Broken(b"data", 1), Lazy(b"data", 0)])
async def test_what_cannot_be_made_closes_the_connection(lazy):
    handler = ScriptedHandler(lambda *_: answer_of(b"head", lazy))
    async with serving(handler) as server, peer_of(server) as peer:
        peer.ask(b"fetch")
        await until(lambda: server.hub.closed["failed answer"])
