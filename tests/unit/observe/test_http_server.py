"""Clients that send half a request keep no others out."""

from __future__ import annotations

import asyncio
import socket
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
