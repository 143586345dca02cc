"""20,000 peers that send hostile bytes before, in the middle of and after a TLS handshake; and some that send
records without data.

`make test` has 3,000 of the former, and KCOMPAT_FUZZ=50 a million.
"""

from __future__ import annotations

import asyncio
import os
import random
import socket
import ssl
import struct
from collections import Counter
from contextlib import suppress
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Final

import pytest

from kcompat.net.plain_listener import system_poller
from kcompat.net.server import Server
from kcompat.net.tls import Scratch, TlsConnection
from support.footprint import forget_peak, memory
from support.fuzzing import examples
from support.raw_peer import framed
from support.tls_authority import Authority
from support.tls_records import RecordClient

if TYPE_CHECKING:
    from kcompat.net.answers import Answer, Connection
    from kcompat.net.hub import Hub

AT_ONCE: Final = 50
MIB: Final = 1 << 20
AUTHORITY: Final = Authority()
SERVER: Final = AUTHORITY.server(AUTHORITY.mutual("requested"))
STAGES: Final = {"noise": 30, "hello": 60, "middle": 3, "after": 3, "inside": 4}
"""Stages of a connection with the number of peers in a hundred that send something hostile there."""


def damaged(chosen: random.Random, data: bytes) -> bytes:
    """The bytes with one thing about them changed."""
    spoilt = bytearray(data)
    place = chosen.randrange(len(spoilt))
    match chosen.randrange(7):
        case 0:
            spoilt[place] ^= 1 << chosen.randrange(8)
        case 1:
            spoilt[place] = chosen.choice((0, 1, 0x7F, 0x80, 0xFF))
        case 2:
            del spoilt[place:]
        case 3:
            del spoilt[place : place + chosen.randrange(1, 20)]
        case 4:
            spoilt[place:place] = chosen.randbytes(chosen.choice((1, 2, 100, 20_000)))
        case 5:
            spoilt += spoilt[place:]
        case _:
            size = chosen.choice((0, 1, 0x4000, 0x4001, 0xFFFF))
            struct.pack_into(">H", spoilt, chosen.choice((3, max(0, place - 2))), size)
    return bytes(spoilt)


@cache
def hello(context: ssl.SSLContext, number: int) -> bytes:
    """The first bytes of a client; those of different numbers differ in what is random in them."""
    outgoing = ssl.MemoryBIO()
    tls = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=f"host{number}.example.org")
    with suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()


class AnsweringHandler:
    """A frame handler that answers every frame with the same one."""

    max_frame: int | None = None

    def on_frame(self, connection: Connection, frame: memoryview) -> Answer:
        return [b"\0\0\0\1x"]

    def ends_wait(self, frame: memoryview) -> bool:
        return False


class HostilePeer:
    """A TLS client that damages what it sends in one stage of its connection."""

    def __init__(self, sock: socket.socket, chosen: random.Random, context: ssl.SSLContext) -> None:
        self._socket = sock
        self._chosen = chosen
        self._context = context
        self._loop = asyncio.get_running_loop()

    async def play(self, stage: str) -> None:
        """Go as far as the stage, send something hostile, and read until the server closes."""
        with suppress(OSError):
            if stage == "noise":
                await self._send(self._chosen.randbytes(self._chosen.choice((1, 5, 60, 3000, 40_000))))
            elif stage == "hello":
                await self._send(damaged(self._chosen, hello(self._context, self._chosen.randrange(10))))
            elif await self._shake_hands(is_damaged=stage == "middle"):
                await self._talk(is_damaged=stage == "after")
            self._socket.shutdown(socket.SHUT_WR)
            while await self._loop.sock_recv(self._socket, 65536):
                pass

    async def _send(self, data: bytes) -> None:
        await self._loop.sock_sendall(self._socket, data)

    async def _shake_hands(self, *, is_damaged: bool) -> bool:
        """Return whether the handshake is done; the second flight may be damaged."""
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = self._context.wrap_bio(self._incoming, self._outgoing, server_hostname="localhost")
        for flight in range(10):
            try:
                self._tls.do_handshake()
                is_done = True
            except ssl.SSLWantReadError:
                is_done = False
            data = self._outgoing.read()
            if flight == 1 and is_damaged and data:
                await self._send(damaged(self._chosen, data))
                return False
            await self._send(data)
            if is_done:
                return True
            answer = await self._loop.sock_recv(self._socket, 65536)
            if not answer:
                return False
            self._incoming.write(answer)
        return False

    async def _talk(self, *, is_damaged: bool) -> None:
        """Send frames in records that are damaged, or hostile frames in whole records."""
        for _ in range(self._chosen.randrange(1, 6)):
            body = self._chosen.randbytes(self._chosen.choice((1, 10, 500, 30_000)))
            frame = framed(body) if is_damaged else damaged(self._chosen, framed(body))
            for start in range(0, len(frame), size := self._chosen.choice((1000, 16_384, 50_000))):
                self._tls.write(frame[start : start + size])
            data = self._outgoing.read()
            await self._send(damaged(self._chosen, data) if is_damaged else data)


def connected(hub: Hub, handler: AnsweringHandler, *, blocks: bool = False) -> socket.socket:
    """The other end of a new connection of the hub."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(blocks)
    TlsConnection(
        hub, hub.share(system_poller), ours, handler, "SSL", ("peer", 1), ("here", 2), server=SERVER
    )
    return theirs


@pytest.mark.parametrize(
    "peers", [3_000, pytest.param(20_000, marks=pytest.mark.thorough("the row of 3,000 peers"))]
)
async def test_hostile_bytes_end_their_connection_and_nothing_else(peers: int) -> None:
    handler = AnsweringHandler()
    server = Server([], handler)
    server.start()
    hub = server.hub
    context = AUTHORITY.client_context(AUTHORITY.client("mallory"))
    seeds = iter(range(examples(peers)))
    stages: Counter[str] = Counter()

    async def attack(most: int) -> None:
        for seed in islice(seeds, most):
            chosen = random.Random(seed)
            (stage,) = chosen.choices([*STAGES], STAGES.values())
            stages[stage] += 1
            with connected(hub, handler) as end:
                async with asyncio.timeout(60):
                    await HostilePeer(end, chosen, context).play(stage)

    await asyncio.gather(*(attack(10) for _ in range(AT_ONCE)))  # so that what is kept for good is there
    forget_peak(os.getpid())
    before = memory(os.getpid(), "VmRSS")
    await asyncio.gather(*(attack(examples(peers)) for _ in range(AT_ONCE)))
    assert memory(os.getpid(), "VmHWM") - before < 32 * MIB
    assert not hub.connections
    assert sum(hub.closed.values()) == sum(stages.values())
    hub.memory.check_invariants()
    assert hub.memory.used == 0
    assert not hub.share(Scratch).outgoing.pending  # or another connection would send it
    await server.stop()


FLOODS: Final = {
    "bytes behind the end": (
        ssl.TLSVersion.TLSv1_3,
        lambda client: client.end() + bytes(1000),
        "disconnected",
    ),
    "a second end": (ssl.TLSVersion.TLSv1_2, lambda client: 2 * client.end(), "disconnected"),
    "updates of keys": (ssl.TLSVersion.TLSv1_3, lambda client: client.key_updates(5_000), "damaged TLS"),
    "new handshakes": (ssl.TLSVersion.TLSv1_2, lambda client: client.hellos(5_000), "damaged TLS"),
}
"""Version of TLS, bytes of a client after the handshake, and reason why its connection closes."""


@pytest.mark.parametrize("flood", FLOODS)
async def test_records_without_data_end_their_connection(flood: str) -> None:
    version, make, reason = FLOODS[flood]
    handler = AnsweringHandler()
    server = Server([], handler)
    server.start()

    def attack() -> None:
        with suppress(ConnectionError), connected(server.hub, handler, blocks=True) as end:
            client = RecordClient(end, AUTHORITY.client_context(), version)
            end.sendall(make(client))
            while end.recv(65536):
                pass

    attacking = asyncio.create_task(asyncio.to_thread(attack))
    async with asyncio.timeout(30):
        await attacking
        await server.hub.until_empty()
    assert server.hub.closed == {reason: 1}
    await server.stop()


async def test_keys_that_a_client_asks_for_are_used_for_the_next_answer() -> None:
    server = Server([], AnsweringHandler())
    server.start()

    def ask() -> bytes:
        with connected(server.hub, AnsweringHandler(), blocks=True) as end:
            client = RecordClient(end, AUTHORITY.client_context(), ssl.TLSVersion.TLSv1_3)
            end.sendall(client.key_updates(3, framed(b"a request")))
            return client.read(5)

    async with asyncio.timeout(30):
        assert await asyncio.to_thread(ask) == b"\0\0\0\1x"
    await server.stop()
