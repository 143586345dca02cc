"""Raw frames over real sockets: a server with a scripted handler, and peers that behave or do not."""

from __future__ import annotations

import asyncio
import select
import struct
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from kcompat import capabilities
from kcompat.net.loop_poller import LoopPoller
from kcompat.net.plain_listener import bind, system_poller
from kcompat.net.server import Server
from support.eventually import limit_s

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from typing import TypeAlias

    from kcompat.net.answers import Answer, Connection
    from kcompat.net.hub import Hub
    from kcompat.net.limits import Limits
    from kcompat.net.poller import Poller
    from kcompat.security.tls_server import TlsServer

    MakePoller: TypeAlias = Callable[[Hub], Poller]
    Script: TypeAlias = Callable[[Connection, memoryview], Answer]

FETCH_KEY: Final = struct.pack(">h", 1)
TIMEOUT_S: Final = 10.0
"""How long anything here waits before it fails."""


def _pollers() -> dict[str, MakePoller]:
    pollers: dict[str, MakePoller] = {"portable": LoopPoller}
    if capabilities.has(select, "epoll"):
        from kcompat.net import _python
        from kcompat.net.epoll import EpollPoller

        pollers["python"] = partial(EpollPoller, serve=_python.serve)
        with suppress(ImportError):
            from kcompat.net import _native

            pollers["native"] = partial(EpollPoller, serve=_native.serve)
    return pollers


POLLERS: Final = _pollers()
"""All that can be had here, by name."""
_in_use: list[MakePoller] = [system_poller]


def make_poller(hub: Hub) -> Poller:
    """The one that `using` has chosen, or that the system has."""
    return _in_use[-1](hub)


@contextmanager
def using(poller: str) -> Iterator[None]:
    """`serving` watches its sockets with one of `POLLERS` meanwhile."""
    _in_use.append(POLLERS[poller])
    try:
        yield
    finally:
        _in_use.pop()


def framed(body: bytes) -> bytes:
    """`body` as it goes over the wire."""
    return struct.pack(">i", len(body)) + body


def echo(_connection: Connection, frame: memoryview) -> Answer:
    """Answer a frame with itself."""
    return [framed(bytes(frame))]


async def until(condition: Callable[[], object]) -> None:
    """Let the loop turn until something is true that announces itself to nobody."""
    async with asyncio.timeout(limit_s(TIMEOUT_S)):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0)  # no event tells: that is what this is for


class ScriptedHandler:
    """A frame handler that answers with `script(connection, frame)` and remembers what it was given."""

    max_frame: int | None = None

    def __init__(self, script: Script = echo) -> None:
        self.script = script
        self.frames: list[bytes] = []
        self.connections: list[Connection] = []

    def on_frame(self, connection: Connection, frame: memoryview) -> Answer:
        assert not frame.readonly, "the produce path patches frames in place"
        self.frames.append(bytes(frame))
        if connection not in self.connections:
            self.connections.append(connection)
        return self.script(connection, frame)

    def ends_wait(self, frame: memoryview) -> bool:
        """Any frame but a fetch does."""
        return frame[:2] != FETCH_KEY

    async def until_frames(self, count: int) -> None:
        """Wait until `count` frames have come in all."""
        await until(lambda: len(self.frames) >= count)


@asynccontextmanager
async def serving(
    handler: ScriptedHandler,
    limits: Limits | None = None,
    make_poller: MakePoller = make_poller,
    *,
    tls: TlsServer | None = None,
) -> AsyncIterator[Server]:
    """A server of `handler` on a free port of the loopback, encrypted with `tls`."""
    name = "PLAINTEXT" if tls is None else "SSL"
    listener = bind(name, "127.0.0.1", 0, backlog=1000, tls=tls, make_poller=make_poller)
    server = Server([listener], handler, limits)
    server.start()
    try:
        yield server
    finally:
        await server.stop(grace_s=0.1)


class RawPeer:
    """A client that sends what it is told to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, data: bytes) -> None:
        """Send bytes as they are; they are lost if the server has closed."""
        if not self.writer.transport.is_closing():
            self.writer.write(data)

    def ask(self, *bodies: bytes) -> None:
        """Send frames, all at once."""
        self.send(b"".join(map(framed, bodies)))

    async def frame(self) -> bytes:
        """The body of the next frame of the server."""
        async with asyncio.timeout(limit_s(TIMEOUT_S)):
            (length,) = struct.unpack(">i", await self.reader.readexactly(4))
            return await self.reader.readexactly(length)

    async def frames(self, count: int) -> list[bytes]:
        """The bodies of the next `count` frames."""
        return [await self.frame() for _ in range(count)]

    async def rest(self) -> bytes:
        """All that comes until the server closes; a reset counts as the end."""
        received = b""
        async with asyncio.timeout(limit_s(TIMEOUT_S)):
            with suppress(ConnectionError):
                while chunk := await self.reader.read(65536):
                    received += chunk
        return received

    async def close(self) -> None:
        """Close the connection."""
        self.writer.close()
        with suppress(OSError):  # reset, or what TLS makes of answers that were not read
            await self.writer.wait_closed()


@asynccontextmanager
async def peer_of(server: Server, **options: object) -> AsyncIterator[RawPeer]:
    """A peer connected to the first listener of `server`; `options` go to `asyncio.open_connection`."""
    listener = server.listeners[0]
    reader, writer = await asyncio.open_connection(listener.host, listener.port, **options)  # type: ignore[arg-type]
    peer = RawPeer(reader, writer)
    try:
        yield peer
    finally:
        await peer.close()
