"""Limits on the cost of hostile, silent and too many peers."""

from __future__ import annotations

import asyncio
import gc
import socket
import struct
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from kcompat.net.answers import Mode, Waiting
from kcompat.net.hub import CAREFUL_READ, SCRATCH_SIZE, SHORT_READ
from kcompat.net.limits import Limits, ListenerLimits
from kcompat.net.listener import ListenerError
from kcompat.net.plain_listener import bind
from kcompat.net.server import Server
from kcompat.net.sizes import KIB, MIB
from kcompat.promise import Promise
from kcompat.security.quotas.rates import QuotaWindow
from support.raw_peer import ScriptedHandler, framed, peer_of, serving, until

pytestmark = pytest.mark.usefixtures("either_poll")


def resident():
    """Resident memory of this process, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


async def test_announced_bytes_cost_nothing():
    """A peer pays for what it sends, not for what it says."""
    async with serving(ScriptedHandler()) as server, AsyncExitStack() as stack:
        before = resident()
        for _ in range(20):
            peer = await stack.enter_async_context(peer_of(server))
            peer.send(struct.pack(">i", 100 * MIB) + bytes(1000))
        await until(lambda: len(server.hub.connections) == 20 and server.hub.memory.used >= 20 * 1004)
        assert server.hub.memory.used <= 20 * 64 * KIB
        assert resident() - before < 8 * MIB


async def test_memory_of_half_frames_is_bounded_per_address_and_given_back():
    limits = Limits(receive_memory=8 * MIB)
    async with serving(ScriptedHandler(), limits) as server, AsyncExitStack() as stack:
        peers = [await stack.enter_async_context(peer_of(server)) for _ in range(10)]
        for peer in peers:
            peer.send(framed(bytes(700_000))[:-1])
        await until(lambda: server.hub._starved)
        for _ in range(20):
            await asyncio.sleep(0)
        # One frame may go over the share of its address; the others stop at it.
        assert server.hub.memory.used <= limits.receive_memory_per_ip + 700_004 + 10 * 256 * KIB
        server.hub.memory.check_invariants()
        for peer in peers:
            peer.send(b"\0")
        for peer in peers:
            assert len(await peer.frame()) == 700_000
        assert server.hub.memory.used == 0


@pytest.mark.parametrize("sent", [700_000, 3 * MIB])
async def test_first_reads_of_many_peers_hardly_go_over_the_limit(sent):
    limits = Limits(receive_memory=8 * MIB)
    async with serving(ScriptedHandler(), limits) as server, AsyncExitStack() as stack:
        peers = [await stack.enter_async_context(peer_of(server)) for _ in range(30)]
        for peer in peers:
            for _ in range(4):  # the kernel takes little at once from a connection that is new
                peer.ask(bytes(MIB))
                await peer.frame()
        for peer in peers:
            peer.send(framed(bytes(4 * MIB))[:sent])
        await until(lambda: sum(connection._held is not None for connection in server.hub.connections) == 30)
        for _ in range(20):
            await asyncio.sleep(0)
        # A first read and as much again to come, one frame that may go over, and little of each other peer.
        assert server.hub.memory.used <= limits.receive_memory + 2 * SCRATCH_SIZE + 4 * MIB + 30 * 64 * KIB
        server.hub.memory.check_invariants()


async def test_reads_get_shorter_as_receive_memory_fills_and_longer_as_it_is_freed():
    async with serving(ScriptedHandler(), Limits(receive_memory=8 * MIB)) as server, peer_of(server) as peer:
        peer.ask(b"x")
        await peer.frame()
        hub, (connection,) = server.hub, server.hub.connections

        def take(size):
            waiting = Waiting(Promise(), Mode.PIPELINED, holds=size)
            hub.keep(waiting, connection)
            return waiting.promise

        assert hub.read_size == SCRATCH_SIZE
        first = take(MIB)
        assert hub.read_size == SCRATCH_SIZE
        second = take(1)
        assert hub.read_size == CAREFUL_READ
        third = take(7 * MIB - 2)
        assert hub.read_size == CAREFUL_READ
        fourth = take(1)
        assert hub.read_size == SHORT_READ
        third.complete(None)
        assert hub.read_size == CAREFUL_READ
        assert hub.memory.reserve("another", connection.peer_host, 1)  # which may go over the limit
        full = hub.hold(memoryview(struct.pack(">i", 100_000)), connection)
        full.end = len(full.data)
        assert not hub.enlarge(full, connection)
        assert hub.read_size == SHORT_READ
        hub.release(full, connection)
        for promise in (first, second, fourth):
            promise.complete(None)
        hub.memory.release("another", connection.peer_host, 1)
        await until(lambda: hub.read_size == SCRATCH_SIZE)
        assert hub.memory.used == 0


async def test_a_frame_bigger_than_the_share_of_an_address_arrives():
    async with serving(ScriptedHandler(), Limits(receive_memory=MIB)) as server, peer_of(server) as peer:
        peer.ask(bytes(3_000_000))
        assert len(await peer.frame()) == 3_000_000


class SteppedLoop(asyncio.SelectorEventLoop):
    """A loop whose time stands still, also while the machine does something else, until a test moves it."""

    now = 0.0

    def time(self):
        return self.now


def test_idle_connections_are_closed_and_busy_ones_are_not():
    with asyncio.Runner(loop_factory=SteppedLoop) as runner:
        runner.run(play_an_idle_and_a_busy_peer(runner.get_loop()))


async def play_an_idle_and_a_busy_peer(loop):
    limits = Limits(max_idle_s=0.2)
    async with serving(ScriptedHandler(), limits) as server, peer_of(server) as idle, peer_of(server) as busy:
        idle.ask(b"once")
        busy.ask(b"once")
        await idle.frame()
        await busy.frame()
        closing = asyncio.create_task(idle.rest())
        while not closing.done():
            busy.ask(b"again")
            await busy.frame()
            loop.now += 0.02
        assert closing.result() == b""
        busy.ask(b"still there")
        assert await busy.frame() == b"still there"
        assert server.hub.closed == {"idle": 1}


async def test_no_connection_is_closed_before_its_time():
    limits = Limits(max_idle_s=0.4)
    async with serving(ScriptedHandler(), limits) as server, peer_of(server) as peer:
        await asyncio.sleep(limits.sweep_period_s * 0.8)  # activity between two sweeps
        peer.ask(b"once")
        await peer.frame()
        asked = asyncio.get_running_loop().time()
        assert await peer.rest() == b""
        assert asyncio.get_running_loop().time() - asked >= limits.max_idle_s


@pytest.mark.parametrize("sent", [b"", b"\0", framed(bytes(1000))[:10]])
async def test_half_a_frame_does_not_keep_a_silent_connection(sent):
    async with serving(ScriptedHandler(), Limits(max_idle_s=0.1)) as server, peer_of(server) as peer:
        peer.send(sent)
        assert await peer.rest() == b""
        assert server.hub.closed == {"idle": 1}


@pytest.mark.parametrize("sent", [b"", b"\0", b"\0\0\0"])
async def test_a_peer_without_a_whole_length_prefix_is_closed(sent):
    async with serving(ScriptedHandler(), Limits(header_deadline_s=0.1)) as server, peer_of(server) as peer:
        peer.send(sent)
        assert await peer.rest() == b""
        assert server.hub.closed == {"unfinished frame": 1}


async def test_a_trickling_body_is_closed(caplog):
    async with serving(ScriptedHandler(), Limits(body_deadline_s=0.2)) as server, peer_of(server) as peer:
        peer.send(framed(bytes(1000))[:10])
        closing = asyncio.create_task(peer.rest())
        while not closing.done():
            peer.send(b"\0")
            await asyncio.wait([closing], timeout=0.02)
        assert server.hub.closed == {"unfinished frame": 1}
    assert caplog.messages == ["127.0.0.1: connection closed: unfinished frame"]


async def test_a_peer_between_frames_is_not_hurried():
    limits = Limits(header_deadline_s=0.05, body_deadline_s=0.05)
    async with serving(ScriptedHandler(), limits) as server, peer_of(server) as peer:
        peer.ask(b"first")
        await peer.frame()
        await asyncio.sleep(0.2)
        peer.ask(b"second")
        assert await peer.frame() == b"second"


async def test_too_many_connections_of_one_address():
    limits = Limits(max_connections_per_ip=2, per_ip_overrides={"127.0.0.2": 1})
    async with serving(ScriptedHandler(), limits) as server:
        async with peer_of(server) as one, peer_of(server) as two:
            for peer in (one, two):
                peer.ask(b"welcome")
                assert await peer.frame() == b"welcome"
            async with peer_of(server) as three:
                assert await three.rest() == b""
            async with peer_of(server, local_addr=("127.0.0.2", 0)) as other:
                other.ask(b"elsewhere")
                assert await other.frame() == b"elsewhere"
                async with peer_of(server, local_addr=("127.0.0.2", 0)) as fourth:
                    assert await fourth.rest() == b""
        await until(lambda: not server.hub.connections)
        async with peer_of(server) as again:
            again.ask(b"room again")
            assert await again.frame() == b"room again"


async def test_over_max_connections_a_peer_waits_until_another_leaves():
    async with serving(ScriptedHandler(), Limits(max_connections=1)) as server:
        async with peer_of(server) as first:
            first.ask(b"in")
            assert await first.frame() == b"in"
            waiting = await asyncio.open_connection("127.0.0.1", server.listeners[0].port)
            waiting[1].write(framed(b"out"))
            await asyncio.sleep(0.05)
            assert len(server.hub.connections) == 1
        assert await asyncio.wait_for(waiting[0].readexactly(7), 10) == framed(b"out")
        waiting[1].close()
        await waiting[1].wait_closed()


async def test_the_inter_broker_listener_makes_room_for_itself():
    clients = bind("CLIENTS", "127.0.0.1", 0)
    brokers = bind("BROKERS", "127.0.0.1", 0, protected=True)
    server = Server([brokers, clients], ScriptedHandler(), Limits(max_connections=1))
    server.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", clients.port)
    await until(lambda: server.hub.connections)
    async with peer_of(server) as broker:
        broker.ask(b"let me in")
        assert await broker.frame() == b"let me in"
        assert await reader.read() == b""
    writer.close()
    await server.stop(0)


async def test_a_listener_at_its_own_limit_leaves_the_others_alone():
    one, other = bind("ONE", "127.0.0.1", 0), bind("OTHER", "127.0.0.1", 0)
    limits = Limits(by_listener={"ONE": ListenerLimits(max_connections=1)})
    server = Server([one, other], ScriptedHandler(), limits)
    server.start()
    async with peer_of(server) as first:
        first.ask(b"in")
        assert await first.frame() == b"in"
        waiting = await asyncio.open_connection("127.0.0.1", one.port)
        waiting[1].write(framed(b"later"))
        reader, writer = await asyncio.open_connection("127.0.0.1", other.port)
        writer.write(framed(b"x"))
        assert await asyncio.wait_for(reader.readexactly(5), 10) == framed(b"x")
        assert len(server.hub.connections) == 2
    assert await asyncio.wait_for(waiting[0].readexactly(9), 10) == framed(b"later")
    waiting[1].close()
    writer.close()
    await server.stop(0)


async def test_connections_above_the_rate_wait_to_be_accepted():
    window = QuotaWindow(2, 1000)
    async with serving(ScriptedHandler(), Limits(max_rate=4, rate_window=window)) as server:
        begun = asyncio.get_running_loop().time()
        streams = [await asyncio.open_connection("127.0.0.1", server.listeners[0].port) for _ in range(8)]
        for _, writer in streams:
            writer.write(framed(b"x"))
        for reader, _ in streams:
            assert await asyncio.wait_for(reader.readexactly(5), 30) == framed(b"x")
        assert asyncio.get_running_loop().time() - begun >= 0.5
        for _, writer in streams:
            writer.close()


async def test_connections_above_the_rate_of_their_address_are_closed():
    limits = Limits(rate_window=QuotaWindow(2, 1000))
    server = Server(
        [bind("PLAINTEXT", "127.0.0.1", 0)], ScriptedHandler(), limits, address_limits={"127.0.0.1": 2}
    )
    server.start()
    async with peer_of(server) as first, peer_of(server) as second:
        for peer in (first, second):
            peer.ask(b"in")
            assert await peer.frame() == b"in"
        async with peer_of(server) as third:
            assert await third.rest() == b""
        async with peer_of(server, local_addr=("127.0.0.2", 0)) as elsewhere:
            elsewhere.ask(b"in")
            assert await elsewhere.frame() == b"in"
    assert server.hub.closed["too many new connections of one address"] == 1
    await server.stop(0)


def test_a_taken_port_is_one_clear_sentence():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ListenerError) as caught:
            bind("PLAINTEXT", "127.0.0.1", port)
    assert str(caught.value) == (
        f"Cannot listen on 127.0.0.1:{port} (PLAINTEXT): "
        "the port is already in use; choose another, or stop what listens there."
    )


def test_an_unknown_host_is_one_clear_sentence():
    with pytest.raises(ListenerError, match=r"^Cannot listen on 192\.0\.2\.1:9092 \(PLAINTEXT\): [^.]*\.$"):
        bind("PLAINTEXT", "192.0.2.1", 9092)


@pytest.mark.parametrize(
    ("address", "used", "seen"), [("::1", "::1", "::1"), ("", "127.0.0.1", "127.0.0.1"), ("::", "::1", "::1")]
)
async def test_ipv6_and_all_addresses(address, used, seen):
    if not socket.has_dualstack_ipv6():
        pytest.skip("no IPv6 here")
    handler = ScriptedHandler()
    server = Server([bind("PLAINTEXT", address, 0)], handler)
    server.start()
    reader, writer = await asyncio.open_connection(used, server.listeners[0].port)
    writer.write(framed(b"x"))
    assert await asyncio.wait_for(reader.readexactly(5), 10) == framed(b"x")
    (connection,) = handler.connections
    assert (connection.peer_host, connection.local_address[0]) == (seen, seen)
    writer.close()
    await server.stop(0)


async def test_complaints_about_an_address_are_one_line_and_a_count(caplog):
    async with serving(ScriptedHandler()) as server:
        for _ in range(5):
            async with peer_of(server) as peer:
                peer.send(b"GET / HTTP/1.0\r\n\r\n")
                assert await peer.rest() == b""
        assert server.hub.closed == {"bad frame length": 5}
        assert len(caplog.records) == 1
    first, *others = [record.getMessage() for record in caplog.records]
    assert others == [f"{first} [4 more like this suppressed]"]


async def test_five_thousand_idle_connections_cost_at_most_ten_megabytes():
    """Only our side is counted: the peers are bare descriptors of this process."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = 5000 if hard > 11_000 else (hard - 500) // 2
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2 * count + 500), hard))
    handler, peers = ScriptedHandler(), []
    try:
        async with serving(handler, Limits(max_connections_per_ip=10_000)) as server:
            listener = server.listeners[0]
            template = framed(b"hello")
            for _ in range(count):
                peer = socket.socket()
                peer.connect((listener.host, listener.port))
                peer.send(template)
                peers.append(peer.detach())
                if len(peers) == 1:
                    await until(lambda: server.hub.connections)
                    gc.collect()
                    before = resident()
                if not len(peers) % 200:
                    await until(lambda: len(server.hub.connections) == len(peers))
            await until(lambda: len(server.hub.connections) == count)
            handler.connections.clear()
            gc.collect()
            assert resident() - before <= count * 2 * KIB + MIB
            assert server.hub.memory.used == 0
    finally:
        for peer in peers:
            socket.close(peer)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_a_peer_that_only_closed_its_sending_side_is_closed_behind_the_answers():
    async with serving(ScriptedHandler()) as server, peer_of(server) as peer:
        peer.ask(b"last words")
        peer.writer.write_eof()
        assert await peer.rest() == framed(b"last words")
        assert server.hub.closed == {"disconnected": 1}
