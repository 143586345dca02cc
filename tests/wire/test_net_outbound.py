"""Connections of ours to other brokers, on real sockets."""

from __future__ import annotations

import asyncio
import errno
import random
import socket
from contextlib import asynccontextmanager, closing

import pytest

from kcompat.net.outbound import Ending
from kcompat.net.outbound_connection import talks_to_itself
from kcompat.net.outbound_socket import SocketConnector
from kcompat.net.sizes import MIB
from support.heard import Heard
from support.raw_peer import ScriptedHandler, framed, serving, until

MAX_FRAME = 20 * MIB


def connect(address, heard, **options):
    connector = SocketConnector(asyncio.get_running_loop())
    return connector(address, heard, **{"timeout_ms": 10_000, "max_frame": MAX_FRAME, **options})


@asynccontextmanager
async def connected_to(server, **options):
    heard = Heard()
    listener = server.listeners[0]
    connection = connect((listener.host, listener.port), heard, **options)
    await until(lambda: heard.events)
    assert heard.events == ["connected"]
    yield connection, heard
    connection.close()


@pytest.fixture
def refusing_port():
    """A port of this machine that nobody listens on."""
    with closing(socket.socket()) as sock:
        sock.bind(("127.0.0.1", 0))
        yield sock.getsockname()[1]


async def test_frames_go_out_and_come_back_in_order():
    bodies = [random.Random(size).randbytes(size) for size in (1, 10, 70_000, 3, 5 * MIB, 65_536, 2)]
    async with serving(ScriptedHandler()) as server, connected_to(server) as (connection, heard):
        for body in bodies:
            connection.send([framed(body)])
        await until(lambda: len(heard.frames) == len(bodies))
        assert heard.frames == bodies


async def test_what_the_peer_does_not_take_at_once_is_sent_later():
    """A peer that reads nothing, and then everything."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        heard = Heard()
        connection = connect(listening.getsockname(), heard)
        await until(lambda: heard.events)
        bodies = [bytes([number]) * MIB for number in range(16)]
        for body in bodies:
            connection.send([framed(body)[:7], framed(body)[7:]])
        peer, _ = listening.accept()
        with closing(peer):
            peer.setblocking(False)
            loop = asyncio.get_running_loop()
            received = b""
            while len(received) < 16 * (MIB + 4):
                received += await loop.sock_recv(peer, MIB)
        assert received == b"".join(map(framed, bodies))
        connection.close()


async def test_a_port_that_nobody_listens_on_refuses(refusing_port):
    heard = Heard()
    connect(("127.0.0.1", refusing_port), heard)
    assert not heard.events  # nothing is heard before the call returns
    await until(lambda: heard.events)
    assert heard.events == [Ending.REFUSED]


async def test_a_name_is_looked_up_and_each_of_its_addresses_tried(refusing_port):
    """`localhost` may be an IPv6 address first, at which nobody listens."""
    async with serving(ScriptedHandler()) as server:
        heard = Heard()
        connection = connect(("localhost", server.listeners[0].port), heard)
        await until(lambda: heard.events)
        assert heard.events == ["connected"]
        connection.close()
    heard = Heard()
    connect(("localhost", refusing_port), heard)
    await until(lambda: heard.events)
    assert heard.events == [Ending.REFUSED]


async def test_a_name_that_nobody_knows():
    heard = Heard()
    connect(("no-such-host.invalid", 9092), heard)
    await until(lambda: heard.events)
    assert heard.events == [Ending.UNREACHABLE]


async def test_a_host_that_is_silent_times_out():
    """A backlog that is full: the system of the peer answers nobody more."""
    with closing(socket.socket()) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        all_heard = [Heard() for _ in range(8)]
        connections = [connect(listening.getsockname(), heard, timeout_ms=50) for heard in all_heard]
        await until(lambda: all(heard.events for heard in all_heard))
        ends = {event for heard in all_heard for event in heard.events}
        assert ends == {"connected", Ending.TIMED_OUT}
        for connection in connections:
            connection.close()


def test_a_socket_that_was_given_the_port_it_connects_to_is_connected_to_itself():
    """Then nobody listens there, and who comes back would find its port taken."""
    with closing(socket.socket()) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.connect(sock.getsockname())
        assert talks_to_itself(sock) == errno.ECONNREFUSED
    with closing(socket.create_server(("127.0.0.1", 0))) as listening, closing(socket.socket()) as sock:
        assert talks_to_itself(sock) == errno.ENOTCONN
        sock.connect(listening.getsockname())
        assert not talks_to_itself(sock)


@pytest.mark.parametrize("linger", [False, True])
async def test_the_end_by_the_peer_is_told_after_its_last_frame(linger):
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        heard = Heard()
        connect(listening.getsockname(), heard)
        await until(lambda: heard.events)
        peer, _ = listening.accept()
        peer.sendall(framed(b"last") + b"\0\0\0\x09half")
        await until(lambda: heard.frames)
        if linger:  # a process that is killed with bytes unread: its system resets the connection
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        peer.close()
        await until(lambda: len(heard.events) > 2)
        assert heard.events == ["connected", b"last", Ending.RESET if linger else Ending.CLOSED]


async def test_a_send_to_a_peer_that_is_gone_is_told_as_an_end():
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        heard = Heard()
        connection = connect(listening.getsockname(), heard)
        await until(lambda: heard.events)
        peer, _ = listening.accept()
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        peer.close()
        connection.send([b"x"])
        assert heard.events == ["connected"]
        connection.send([b"y"])
        await until(lambda: len(heard.events) > 1)
        assert heard.events[1:] == [Ending.RESET]
        connection.send([b"z"])


async def test_a_frame_above_the_limit_ends_the_connection():
    handler = ScriptedHandler(lambda *_: [framed(b"x" * 1001)])
    async with serving(handler) as server, connected_to(server, max_frame=1000) as (connection, heard):
        connection.send([framed(b"ask")])
        await until(lambda: len(heard.events) > 1)
        assert heard.events[1:] == [Ending.BAD_FRAME]


async def test_nothing_is_heard_after_a_close():
    async with serving(ScriptedHandler()) as server, connected_to(server) as (connection, heard):
        connection.send([framed(b"ask")])
        connection.close()
        connection.close()
        connection.send([framed(b"ask")])
        await until(lambda: not server.hub.connections)
        assert heard.events == ["connected"]
    heard = Heard()
    connection = connect(("127.0.0.1", 9), heard)
    connection.close()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not heard.events


async def test_a_receiver_that_raises_harms_nobody_else(caplog):
    class Broken(Heard):
        def received(self, frame):
            super().received(frame)
            if frame == b"bad":
                raise ZeroDivisionError

    async with serving(ScriptedHandler()) as server:
        heard = Broken()
        connection = connect((server.listeners[0].host, server.listeners[0].port), heard)
        await until(lambda: heard.events)
        connection.send([framed(b"bad") + framed(b"good")])
        await until(lambda: len(heard.events) == 3)
        assert heard.frames == [b"bad", b"good"]
        connection.close()
    assert "ZeroDivisionError" in caplog.text


async def test_a_receiver_may_close_while_it_takes_a_frame():
    class Leaving(Heard):
        def received(self, frame):
            super().received(frame)
            self.connection.close()

    async with serving(ScriptedHandler()) as server:
        heard = Leaving()
        heard.connection = connect((server.listeners[0].host, server.listeners[0].port), heard)
        await until(lambda: heard.events)
        heard.connection.send([framed(b"one") + framed(b"two")])
        await until(lambda: not server.hub.connections)
        assert heard.frames == [b"one"]


async def test_the_receive_buffer_is_as_asked_for():
    async with (
        serving(ScriptedHandler()) as server,
        connected_to(server) as (unbounded, _),
        connected_to(server, receive_buffer=8192) as (bounded, _),
    ):
        sizes = [
            connection._socket.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
            for connection in (unbounded, bounded)
        ]
        assert 8192 <= sizes[1] <= 3 * 8192 < sizes[0]
