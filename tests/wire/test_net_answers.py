"""Answers that come later: their order, and what happens to the frames behind them."""

from __future__ import annotations

import asyncio
import socket
import struct

import pytest

from kcompat.net.answers import CLOSE, Mode, Waiting
from kcompat.net.limits import Limits
from kcompat.promise import Promise
from support.raw_peer import ScriptedHandler, echo, framed, peer_of, serving, until

pytestmark = pytest.mark.usefixtures("either_poll")

FETCH = struct.pack(">h", 1)
PRODUCE = struct.pack(">h", 0)
COMMIT = struct.pack(">h", 8)


class Later:
    """Keeps a promise for each frame that starts with `p`, `b` or a Fetch key (pipelined, blocking, both)."""

    def __init__(self):
        self.promises = []
        self.interrupted = 0

    def __call__(self, _, frame):
        body = bytes(frame)
        if body.startswith(FETCH):
            return self.wait(body, Mode.INTERRUPTIBLE)
        if body.startswith(b"p"):
            return self.wait(body, Mode.PIPELINED)
        if body.startswith(b"b"):
            return self.wait(body, Mode.BLOCKING)
        return [framed(body)]

    def wait(self, body, mode):
        promise = Promise()
        self.promises.append(promise)

        def interrupt():
            self.interrupted += 1
            promise.complete([framed(b"interrupted " + body)])

        return Waiting(promise, mode, interrupt if mode is Mode.INTERRUPTIBLE else None)


def busy_with(work, holds=0):
    """Answers a frame `busy` with what becomes of work on it, and others with themselves."""

    def script(connection, frame):
        return Waiting(work, Mode.BUSY, holds=holds) if frame == b"busy" else echo(connection, frame)

    return script


async def iterations(count=5):
    for _ in range(count):
        await asyncio.sleep(0)


async def test_what_a_frame_completes_leaves_in_the_iteration_that_served_it(request):
    if "portable" in request.node.name:
        return  # the loop itself watches the sockets there: its round is the turn
    loop, later, seen = asyncio.get_running_loop(), Later(), asyncio.Event()

    def script(connection, frame):
        if frame != b"wake":
            return later(connection, frame)
        loop.call_soon(look)  # before anything that the answer might be left to
        later.promises[0].complete([framed(b"woken")])
        return None

    def look():
        assert waiting.recv(100) == framed(b"woken")
        seen.set()

    handler = ScriptedHandler(script)
    async with asyncio.timeout(10), serving(handler) as server, peer_of(server) as waker:
        with socket.create_connection((server.listeners[0].host, server.listeners[0].port)) as waiting:
            waiting.sendall(framed(b"b"))
            await handler.until_frames(1)
            waiting.setblocking(False)
            waker.ask(b"wake")
            await seen.wait()


async def test_pipelined_frames_are_handed_on_at_once_and_answered_in_request_order():
    handler = ScriptedHandler(later := Later())
    async with serving(handler) as server, peer_of(server) as peer:
        peer.ask(b"p1", b"p2", b"now", b"p3")
        await handler.until_frames(4)
        later.promises[2].complete([framed(b"third")])
        later.promises[1].complete([framed(b"second")])
        await iterations()
        later.promises[0].complete([framed(b"first")])
        assert await peer.frames(4) == [b"first", b"second", b"now", b"third"]


async def test_answers_settled_together_leave_together():
    handler = ScriptedHandler(later := Later())
    async with serving(handler) as server, peer_of(server) as peer:
        peer.ask(b"p1", b"p2", b"p3")
        await handler.until_frames(3)
        for number, promise in enumerate(later.promises):
            promise.complete([framed(b"%d" % number)])
        assert await peer.reader.read(65536) == framed(b"0") + framed(b"1") + framed(b"2")


async def test_a_blocking_frame_holds_back_those_behind_it():
    handler = ScriptedHandler(later := Later())
    async with serving(handler) as server, peer_of(server) as peer:
        peer.ask(b"b1", b"now", b"b2", b"last")
        await handler.until_frames(1)
        peer.ask(b"even later")
        await iterations()
        assert handler.frames == [b"b1"]
        later.promises[0].complete([framed(b"one")])
        assert await peer.frames(2) == [b"one", b"now"]
        assert handler.frames == [b"b1", b"now", b"b2"]
        later.promises[1].complete(None)
        assert await peer.frames(2) == [b"last", b"even later"]
        assert server.hub.memory.used == 0


async def test_a_blocking_answer_waits_for_the_pipelined_ones_before_it():
    handler = ScriptedHandler(later := Later())
    async with serving(handler) as server, peer_of(server) as peer:
        peer.ask(b"p1", b"b1", b"now")
        await handler.until_frames(2)
        later.promises[1].complete([framed(b"blocking")])
        await handler.until_frames(3)
        later.promises[0].complete([framed(b"pipelined")])
        assert await peer.frames(3) == [b"pipelined", b"blocking", b"now"]


async def test_an_answer_that_is_there_already_is_no_wait():
    def script(_, frame):
        return Waiting(Promise.resolved([framed(bytes(frame))]), Mode.BLOCKING)

    handler = ScriptedHandler(script)
    async with serving(handler) as server, peer_of(server) as peer:
        peer.ask(b"1", b"2", b"3")
        assert await peer.reader.read(65536) == framed(b"1") + framed(b"2") + framed(b"3")


@pytest.mark.parametrize("together", [True, False])
async def test_another_request_ends_a_waiting_fetch_once(together):
    handler = ScriptedHandler(later := Later())
    async with serving(handler) as server, peer_of(server) as peer:
        if together:
            peer.ask(FETCH, COMMIT, COMMIT)
        else:
            peer.ask(FETCH)
            await handler.until_frames(1)
            await iterations()
            assert later.interrupted == 0
            peer.ask(COMMIT)
            peer.ask(COMMIT)
        assert await peer.frames(3) == [b"interrupted " + FETCH, COMMIT, COMMIT]
        assert later.interrupted == 1


async def test_a_fetch_does_not_end_a_waiting_fetch():
    handler = ScriptedHandler(later := Later())
    async with serving(handler) as server, peer_of(server) as peer:
        peer.ask(FETCH + b"1", FETCH + b"2")
        await handler.until_frames(1)
        await iterations()
        assert (later.interrupted, len(handler.frames)) == (0, 1)
        later.promises[0].complete([framed(b"data")])
        assert await peer.frame() == b"data"
        await handler.until_frames(2)
        peer.ask(COMMIT)
        assert await peer.frames(2) == [b"interrupted " + FETCH + b"2", COMMIT]


async def test_the_end_of_its_connection_ends_a_waiting_fetch():
    handler = ScriptedHandler(later := Later())
    async with serving(handler) as server:
        async with peer_of(server) as peer:
            peer.ask(FETCH)
            await handler.until_frames(1)
        await until(lambda: not server.hub.connections)
        assert later.interrupted == 1


async def test_only_a_whole_frame_ends_a_waiting_fetch():
    handler = ScriptedHandler(later := Later())
    big = COMMIT + bytes(1_000_000)
    async with serving(handler) as server, peer_of(server) as peer:
        peer.ask(FETCH)
        await handler.until_frames(1)
        peer.send(framed(big)[:-1])
        await until(lambda: server.hub.memory.used > 900_000)
        await iterations()
        assert later.interrupted == 0
        peer.send(b"\0")
        assert await peer.frame() == b"interrupted " + FETCH
        assert await peer.frame() == big


async def test_reading_stops_behind_a_blocking_frame_and_goes_on_after_it():
    handler = ScriptedHandler(later := Later())
    many = [b"%06d" % n * 100 for n in range(20_000)]  # 12 MB: more than the sockets hold
    async with serving(handler) as server, peer_of(server) as peer:
        peer.ask(b"b1", *many)
        await handler.until_frames(1)
        (connection,) = handler.connections
        await until(lambda: connection._paused)
        assert server.hub.memory.used < 600_000
        later.promises[0].complete(None)
        assert await peer.frames(len(many)) == many
        assert server.hub.memory.used == 0


async def test_frames_behind_one_that_is_worked_on_stay_unread():
    work = Promise()
    handler = ScriptedHandler(busy_with(work))
    many = [b"%06d" % n * 100 for n in range(1000)]
    async with serving(handler) as server, peer_of(server) as peer:
        peer.ask(b"busy")
        await handler.until_frames(1)
        peer.ask(*many)
        (connection,) = handler.connections
        await until(lambda: connection._paused)
        assert server.hub.memory.used == 0
        work.complete([framed(b"done")])
        assert await peer.frames(1001) == [b"done", *many]


@pytest.mark.parametrize("answer", [None, [framed(b"done")]])
async def test_what_a_peer_sent_before_it_left_is_served_behind_the_work(answer):
    work = Promise()
    handler = ScriptedHandler(lambda _, frame: Waiting(work, Mode.BUSY) if frame == b"busy" else None)
    async with serving(handler) as server:
        async with peer_of(server) as peer:
            peer.ask(b"busy", b"1")
            await handler.until_frames(1)
            peer.ask(b"2", b"3")
        (connection,) = handler.connections
        await until(lambda: connection._paused)
        work.complete(answer)
        await until(lambda: not server.hub.connections)
    assert handler.frames == [b"busy", b"1", b"2", b"3"]


async def test_after_the_work_an_answer_may_wait_without_holding_others_back():
    work, commit = Promise(), Promise()
    handler = ScriptedHandler(busy_with(work))
    async with serving(handler) as server, peer_of(server) as peer:
        peer.ask(b"busy", b"next")
        await handler.until_frames(1)
        await iterations()
        assert handler.frames == [b"busy"]
        work.complete(Waiting(commit, Mode.PIPELINED))
        await handler.until_frames(2)
        commit.complete([framed(b"committed")])
        assert await peer.frames(2) == [b"committed", b"next"]


async def test_work_that_ends_badly_closes_the_connection():
    work = Promise()
    handler = ScriptedHandler(lambda *_: Waiting(work, Mode.BUSY))
    async with serving(handler) as server, peer_of(server) as peer:
        peer.ask(b"busy", b"never")
        await handler.until_frames(1)
        work.complete(CLOSE)
        assert await peer.rest() == b""
    assert handler.frames == [b"busy"]


@pytest.mark.parametrize("leaves", [False, True])
async def test_what_the_work_holds_counts_as_received_until_its_end(leaves):
    work = Promise()
    handler = ScriptedHandler(lambda *_: Waiting(work, Mode.BUSY, holds=1000))
    async with serving(handler) as server, peer_of(server) as peer:
        peer.ask(b"busy")
        await handler.until_frames(1)
        if leaves:
            handler.connections[0].close()
        assert server.hub.memory.used == 1000
        work.complete([framed(b"done")])
        assert server.hub.memory.used == 0
        server.hub.memory.check_invariants()


async def test_a_starved_peer_goes_on_when_the_work_of_another_ends():
    work = Promise()
    handler = ScriptedHandler(busy_with(work, holds=1_000_000))
    async with serving(handler, Limits(receive_memory=1_000_000)) as server:
        async with peer_of(server) as first, peer_of(server) as second, peer_of(server) as third:
            first.ask(b"busy")
            await handler.until_frames(1)
            second.send(framed(bytes(500_000))[:-1])  # one may go over the limit
            await until(lambda: server.hub.memory.used > 1_400_000)
            third.ask(bytes(500_000))
            await until(lambda: server.hub._starved)
            second.send(b"\0")
            assert len(await second.frame()) == 500_000
            work.complete([framed(b"done")])
            assert len(await third.frame()) == 500_000
        assert server.hub.memory.used == 0


async def test_too_many_pipelined_answers_stop_the_handing_on():
    handler = ScriptedHandler(later := Later())
    async with serving(handler, Limits(max_pipelined=10)) as server, peer_of(server) as peer:
        peer.ask(*(b"p%d" % n for n in range(25)))
        await handler.until_frames(10)
        await iterations()
        assert len(handler.frames) == 10
        later.promises[0].complete([framed(b"0")])
        await handler.until_frames(11)
        for n in range(1, 25):
            await handler.until_frames(n + 1)
            later.promises[n].complete([framed(b"%d" % n)])
        assert await peer.frames(25) == [b"%d" % n for n in range(25)]


async def test_close_goes_out_behind_earlier_answers():
    script = Later()
    handler = ScriptedHandler(lambda c, frame: CLOSE if frame == b"close" else script(c, frame))
    async with serving(handler) as server, peer_of(server) as peer:
        peer.ask(b"now", b"p1", b"close", b"never")
        await handler.until_frames(3)
        assert await peer.frame() == b"now"
        script.promises[0].complete([framed(b"one")])
        assert await peer.rest() == framed(b"one")
        assert handler.frames == [b"now", b"p1", b"close"]
        assert server.hub.closed == {"closed by the handler": 1}


async def test_a_promise_of_close_closes_when_its_turn_comes():
    handler = ScriptedHandler(later := Later())
    async with serving(handler) as server, peer_of(server) as peer:
        peer.ask(b"p1", b"p2", b"p3")
        await handler.until_frames(3)
        later.promises[2].complete([framed(b"never sent")])
        later.promises[1].complete(CLOSE)
        later.promises[0].complete([framed(b"one")])
        assert await peer.rest() == framed(b"one")


async def test_answers_for_a_peer_that_left_are_forgotten():
    handler = ScriptedHandler(later := Later())
    async with serving(handler) as server:
        async with peer_of(server) as peer:
            peer.ask(b"p1", b"b1")
            await handler.until_frames(2)
        await until(lambda: not server.hub.connections)
        for promise in later.promises:
            promise.complete([framed(b"too late")])
        await iterations()
        assert server.hub.closed == {"disconnected": 1}


async def test_mute_holds_back_frames_but_not_answers():
    loop = asyncio.get_running_loop()

    def throttle(connection, frame):
        if frame == b"heavy":
            connection.mute(50)
            connection.mute(10)
        return [framed(bytes(frame))]

    async with serving(ScriptedHandler(throttle)) as server, peer_of(server) as peer:
        begun = loop.time()
        peer.ask(b"heavy", b"next")
        assert await peer.frame() == b"heavy"
        assert loop.time() - begun < 0.04
        peer.ask(b"last")
        assert await peer.frames(2) == [b"next", b"last"]
        assert loop.time() - begun >= 0.049


async def test_stop_answers_what_is_in_flight_and_ends_waiting_fetches():
    handler = ScriptedHandler(later := Later())
    async with serving(handler) as server, peer_of(server) as fetching, peer_of(server) as producing:
        fetching.ask(FETCH)
        producing.ask(b"p1")
        await handler.until_frames(2)
        asyncio.get_running_loop().call_later(0.02, later.promises[-1].complete, [framed(b"in time")])
        asyncio.get_running_loop().call_later(0.02, later.promises[0].complete, [framed(b"in time")])
        await server.stop(grace_s=5)
        assert await fetching.rest() == framed(b"interrupted " + FETCH)
        assert await producing.rest() == framed(b"in time")
        assert not server.hub.connections


async def test_stop_does_not_wait_for_ever():
    handler = ScriptedHandler(Later())
    async with serving(handler) as server, peer_of(server) as peer:
        peer.ask(b"b1")
        await handler.until_frames(1)
        await server.stop(grace_s=0.01)
        assert await peer.rest() == b""
