"""A network in memory carries what a network carries, and slow readers are waited for."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import asynccontextmanager
from typing import IO, TYPE_CHECKING

import pytest

from kcompat.net.listener import ListenerError
from kcompat.net.server import Server
from support.memory_transport import WINDOW, MemoryNetwork
from support.raw_peer import ScriptedHandler, framed
from support.virtual_loop import run_virtually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from support.virtual_loop import VirtualLoop


@asynccontextmanager
async def serving(handler: ScriptedHandler) -> AsyncIterator[tuple[Server, MemoryNetwork]]:
    network = MemoryNetwork()
    server = Server([network.bind("PLAINTEXT", "broker", 9092)], handler)
    server.start()
    try:
        yield server, network
    finally:
        await server.stop()


class Range:
    def __init__(self, file: IO[bytes], position: int, length: int) -> None:
        self.file, self.position, self.length = file, position, length

    def fileno(self) -> int:
        return self.file.fileno()

    def __len__(self) -> int:
        return self.length


def test_frames_go_there_and_back() -> None:
    async def program(_loop: VirtualLoop) -> None:
        handler = ScriptedHandler()
        async with serving(handler) as (server, network):
            one, two = network.connect("broker", 9092), network.connect("broker", 9092, source="other")
            for byte in framed(b"slowly"):
                one.send(bytes([byte]))
            two.ask(b"a", bytes(3_000_000), b"c")
            assert await one.frame() == b"slowly"
            assert [len(await two.frame()) for _ in range(3)] == [1, 3_000_000, 1]
            assert [talk.peer_host for talk in handler.connections] == ["client", "other"]
            one.close()
            two.close()
            await asyncio.sleep(1)
            assert server.hub.closed == {"disconnected": 2}
            assert server.hub.memory.used == 0

    run_virtually(program)


def test_a_slow_reader_is_waited_for_and_gets_everything() -> None:
    async def program(_loop: VirtualLoop) -> None:
        with tempfile.TemporaryFile() as file:
            file.write(bytes(range(256)) * 8192)
            file.flush()
            handler = ScriptedHandler(lambda *_: [b"\0\x20\0\4head", Range(file, 0, 2_097_152)])
            async with serving(handler) as (_, network):
                peer = network.connect("broker", 9092)
                peer.ask(*[b"fetch"] * 3)
                await asyncio.sleep(1)
                assert (len(handler.frames), len(peer.unread)) == (1, WINDOW)
                for _ in range(3):
                    assert await peer.frame() == b"head" + bytes(range(256)) * 8192

    run_virtually(program)


def test_a_peer_that_never_reads_is_closed() -> None:
    async def program(_loop: VirtualLoop) -> None:
        async with serving(ScriptedHandler()) as (server, network):
            network.connect("broker", 9092).ask(bytes(1_000_000))
            await asyncio.sleep(59)
            assert len(server.hub.connections) == 1
            await asyncio.sleep(10)
            assert server.hub.closed == {"slow reader": 1}

    run_virtually(program)


def test_a_stopped_broker_is_not_reached() -> None:
    async def program(_loop: VirtualLoop) -> None:
        async with serving(ScriptedHandler()) as (_, network):
            peer = network.connect("broker", 9092)
            with pytest.raises(ListenerError, match="already in use"):
                network.bind("PLAINTEXT", "broker", 9092)
        with pytest.raises(ConnectionResetError):
            await peer.frame()
        with pytest.raises(ConnectionRefusedError):
            network.connect("broker", 9092)

    run_virtually(program)
