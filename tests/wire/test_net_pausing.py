"""A listener that stops accepting and keeps its address, for a server that takes the place of another."""

from __future__ import annotations

import asyncio

import pytest

from kcompat.net.plain_listener import bind
from kcompat.net.server import Server
from support.raw_peer import ScriptedHandler, framed


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_clients_that_connect_between_two_servers_are_served_by_the_second(host: str) -> None:
    listener = bind("PLAINTEXT", host, 0)
    first, second = (Server([listener], ScriptedHandler()) for _ in range(2))
    first.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    writer.write(framed(b"to the first"))
    assert await reader.readexactly(len(framed(b"to the first"))) == framed(b"to the first")
    first.abandon()
    assert await reader.read() == b""
    writer.close()
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    writer.write(framed(b"early"))
    await asyncio.sleep(0)
    assert not first.hub.connections
    second.start()
    assert await reader.readexactly(len(framed(b"early"))) == framed(b"early")
    writer.close()
    await second.stop(0)
