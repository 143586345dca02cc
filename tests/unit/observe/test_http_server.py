"""Clients that send half a request, or do not read their response, keep no others out."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from starlette.responses import Response

from kcompat.observe.http_server import MAX_CONNECTIONS, HttpServer

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


async def served(scope: Scope, receive: Receive, send: Send) -> None:
    await Response("here")(scope, receive, send)


async def test_the_oldest_half_request_makes_room() -> None:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        address = sock.getsockname()
        server = HttpServer(served, sock)
        server.start()
        half = [await asyncio.open_connection(*address) for _ in range(MAX_CONNECTIONS + 20)]
        for _, writer in half:
            writer.write(b"GET / HTTP/1.1\r\n")
        reader, writer = await asyncio.open_connection(*address)
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 200 OK")
        for _, each in [*half, (reader, writer)]:
            each.close()
        await server.stop()


async def test_a_new_server_takes_the_place_of_an_abandoned_one() -> None:
    for _ in range(3):
        sock = socket.create_server(("127.0.0.1", 0))
        address = sock.getsockname()
        server = HttpServer(served, sock)
        server.start()
        reader, writer = await asyncio.open_connection(*address)
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert (await reader.readline()) == b"HTTP/1.1 200 OK\r\n"
        server.abandon()
        with suppress(ConnectionResetError):
            await reader.read()
        writer.close()


LARGE = 4_000_000
"""Bytes of a response that do not fit into the buffers of a socket."""


async def large(scope: Scope, receive: Receive, send: Send) -> None:
    await Response(b"x" * (LARGE if scope["path"] == "/large" else 1))(scope, receive, send)


async def test_clients_that_do_not_read_make_room_and_end_with_the_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        address = sock.getsockname()
        server = HttpServer(large, sock)
        server.start()
        silent = [socket.create_connection(address) for _ in range(MAX_CONNECTIONS + 20)]
        for each in silent:
            each.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            await asyncio.sleep(0)
        reader, writer = await asyncio.open_connection(*address)
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 200 OK")
        writer.close()
        await server.stop()
        await asyncio.sleep(0)
        for each in silent:
            assert sum(map(len, iter(lambda: received(each), b""))) < LARGE  # noqa: B023 - used at once
            each.close()


def received(client: socket.socket) -> bytes:
    """Return the next bytes of a response, none once the connection has ended or was aborted."""
    try:
        return client.recv(1 << 20)
    except ConnectionResetError:
        return b""
