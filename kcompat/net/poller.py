"""The port through which connections learn which sockets are ready, and send files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket

    from kcompat.net.answers import Piece


class Watched(Protocol):
    """The object that a poller calls when a socket is ready."""

    def on_readable(self) -> None:
        """Receive: bytes are there, or the peer has hung up."""

    def on_writable(self) -> None:
        """Send: the socket takes bytes again, or the peer has hung up."""


class Poller(Protocol):
    """One for all connections of a loop, which calls them when their sockets are ready."""

    def add_reader(self, fd: int, connection: Watched) -> None:
        """Call `on_readable` as long as `fd` has something to read, or was hung up."""

    def add_writer(self, fd: int, connection: Watched) -> None:
        """Call `on_writable` as long as `fd` takes something, or was hung up."""

    def remove_reader(self, fd: int) -> None:
        """No more calls for reading; nothing happens if there were none."""

    def remove_writer(self, fd: int) -> None:
        """No more calls for writing; nothing happens if there were none."""

    def send_soon(self, send: Callable[[list[Piece]], object], pieces: list[Piece]) -> None:
        """Call `send(pieces)` now, or with the sends of others, before its connection is told of more."""

    def send_file(self, sock: socket, file: int, position: int, count: int) -> int:
        """Send up to `count` bytes of an open file; how many it was, 0 where it has ended. Raises OSError."""

    def close(self) -> None:
        """Watch nothing any more."""
