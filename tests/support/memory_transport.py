"""A network in memory: its connections are conversations over pipes, on the running event loop.

There are no sockets, no threads and no time but the loop's, so that a simulation on virtual time can hold
brokers and their clients. Only the limits on the number of connections are not looked at here.
"""

from __future__ import annotations

import asyncio
import os
import struct
from itertools import count
from typing import TYPE_CHECKING, Final, TypeVar

from kcompat.net.listener import ListenerError
from kcompat.net.sizes import KIB
from kcompat.net.stream import Stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.net.answers import FrameHandler
    from kcompat.net.hub import Hub
    from kcompat.net.out_queue import Buffer

End = TypeVar("End", bound="OtherEnd")

WINDOW: Final = 256 * KIB
"""Bytes that a peer has not read yet, beyond which nothing more is sent to it."""


class MemoryConnection(Stream):
    """The broker's end of a connection."""

    peer: OtherEnd
    """Set right after it is made."""

    def __init__(
        self,
        hub: Hub,
        handler: FrameHandler,
        listener_name: str,
        peer: tuple[str, int],
        local_address: tuple[str, int],
        window: int = WINDOW,
    ) -> None:
        """`peer` and `local_address` are a host and a port each."""
        super().__init__(hub, handler, listener_name, peer, local_address)
        self._loop = hub.loop
        self._window = window
        self._inbound = bytearray()
        self._is_ended = False
        self._wants_to_send = False
        self._deliveries = 0

    def arrive(self, data: bytes) -> None:
        """Bytes of the peer; b"" is the end of them."""
        self._inbound += data
        self._is_ended = self._is_ended or not data
        self.resume_reading()

    def resume_reading(self) -> None:
        self._deliveries += 1
        self._loop.call_soon(self._deliver, self._deliveries)

    def _deliver(self, number: int) -> None:
        if number != self._deliveries or not (self._inbound or self._is_ended) or self.peer.is_ended:
            return  # a later delivery takes its place, or there is nothing
        room = self.room()
        if room is None:
            return
        taken = min(len(room), len(self._inbound))
        if not taken:
            self.close("disconnected")
            return
        room[:taken] = self._inbound[:taken]
        del self._inbound[:taken]
        self.received(taken)
        self.resume_reading()

    def hang_up(self) -> None:
        self.peer.end()

    def watch_writable(self) -> None:
        self._wants_to_send = True

    def unwatch_writable(self) -> None:
        self._wants_to_send = False

    def peer_has_read(self) -> None:
        """The peer has room for more."""
        if self._wants_to_send:
            self._loop.call_soon(self._send_on)

    def _send_on(self) -> None:
        if self._wants_to_send and not self.peer.is_ended:
            self.on_writable()

    def send(self, data: Buffer) -> int:
        taken = min(len(data), self._window - len(self.peer.unread))
        if taken <= 0:
            raise BlockingIOError
        self.peer.feed(bytes(data[:taken]))
        return taken

    def send_buffers(self, buffers: list[Buffer], *, more: bool) -> int:
        return self.send(b"".join(buffers))

    def send_file(self, file: int, position: int, count: int) -> int:
        data = os.pread(file, min(count, self._window), position)
        return self.send(data) if data else 0


class OtherEnd:
    """The end of a connection that is not the broker's."""

    def __init__(self, connection: MemoryConnection) -> None:
        self._connection = connection
        self.unread = bytearray()
        self.is_ended = False
        """Whether the broker has closed the connection; what it sent before may be unread yet."""

    def feed(self, data: bytes) -> None:
        """Bytes of the broker."""
        self.unread += data

    def end(self) -> None:
        """The broker sends no more."""
        self.is_ended = True


class MemoryPeer(OtherEnd):
    """A client's end of a connection."""

    def __init__(self, connection: MemoryConnection) -> None:
        super().__init__(connection)
        self._news = asyncio.Event()

    def feed(self, data: bytes) -> None:
        """Bytes of the broker."""
        super().feed(data)
        self._news.set()

    def end(self) -> None:
        """The broker sends no more."""
        super().end()
        self._news.set()

    def send(self, data: bytes) -> None:
        """Send bytes as they are; they are lost if the broker has closed."""
        if data and not self.is_ended:
            self._connection.arrive(data)

    def ask(self, *bodies: bytes) -> None:
        """Send frames, all at once."""
        self.send(b"".join(struct.pack(">i", len(body)) + body for body in bodies))

    async def read(self, size: int) -> bytes:
        """The next `size` bytes; fewer where the broker has closed before that."""
        data = bytearray()
        while len(data) < size:
            part = self.unread[: size - len(data)]
            data += part
            del self.unread[: len(part)]
            if part:
                self._connection.peer_has_read()
            elif self.is_ended:
                break
            else:
                self._news.clear()
                await self._news.wait()
        return bytes(data)

    async def frame(self) -> bytes:
        """The body of the next frame. ConnectionResetError where the broker closes before its end."""
        head = await self.read(4)
        body = await self.read(int.from_bytes(head, "big"))
        if len(head) < 4 or len(body) < int.from_bytes(head, "big"):
            raise ConnectionResetError("the broker closed the connection")
        return body

    def close(self) -> None:
        """Close the connection."""
        self._connection.arrive(b"")


class MemoryListener:
    """A `kcompat.net.listener.Listener` in memory."""

    def __init__(self, network: MemoryNetwork, name: str, host: str, port: int) -> None:
        self.name, self.host, self.port = name, host, port
        self._network = network
        self._serves: tuple[Hub, FrameHandler] | None = None

    def start(self, hub: Hub, handler: FrameHandler) -> None:
        self._serves = (hub, handler)

    def pause(self) -> None:
        self._serves = None

    def close(self) -> None:
        self.pause()
        self._network.listeners.pop((self.host, self.port), None)

    def accept(self, peer: tuple[str, int], make_end: Callable[[MemoryConnection], End]) -> End:
        """A connection of `peer`. Raises ConnectionRefusedError before the start."""
        if self._serves is None:
            raise ConnectionRefusedError(f"nobody accepts on {self.host}:{self.port}")
        connection = MemoryConnection(*self._serves, self.name, peer, (self.host, self.port))
        end = connection.peer = make_end(connection)
        return end


class MemoryNetwork:
    """Hosts are names; every one of them is reachable."""

    def __init__(self) -> None:
        self.listeners: dict[tuple[str, int], MemoryListener] = {}
        self._ports = count(32768)

    def bind(
        self,
        name: str,
        host: str,
        port: int,
        *,
        backlog: int = 50,
        buffers: tuple[int, int] = (-1, -1),
        protected: bool = False,
        tls: object = None,
    ) -> MemoryListener:
        """Open a listener (`Bind`), which is reached by the host that it was bound with."""
        address = (host, port or next(self._ports))
        if address in self.listeners:
            raise ListenerError(f"Cannot listen on {host}:{port} ({name}): the port is already in use.")
        self.listeners[address] = MemoryListener(self, name, *address)
        return self.listeners[address]

    def connect(self, host: str, port: int, *, source: str = "client") -> MemoryPeer:
        """A connection from a host. Raises ConnectionRefusedError."""
        return self.open(host, port, source, MemoryPeer)

    def open(self, host: str, port: int, source: str, make_end: Callable[[MemoryConnection], End]) -> End:
        """A connection whose other end `make_end` makes. Raises ConnectionRefusedError."""
        if (host, port) not in self.listeners:
            raise ConnectionRefusedError(f"nobody listens on {host}:{port}")
        return self.listeners[host, port].accept((source, next(self._ports)), make_end)
