"""The port through which connections learn which sockets are ready, and send files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket

    from kcompat.net.answers import Piece


class Watched(Protocol):
    """An object with methods that a poller calls when a socket is ready."""

    def on_readable(self) -> None:
        """Receive: bytes are available, or the peer has hung up."""

    def on_writable(self) -> None:
        """Send: the socket takes bytes again, or the peer has hung up."""


Reader: TypeAlias = "Watched | Callable[[], object]"
"""A connection, whose `on_readable` is called and whose frames a poller may also receive itself; or a
function to call if the received bytes are not frames, as with TLS.
"""


class Poller(Protocol):
    """A poller of all connections of a loop: calls them when their sockets are ready."""

    def add_reader(self, fd: int, reader: Reader) -> None:
        """Call `reader` as long as `fd` has something to read, or is hung up."""

    def add_writer(self, fd: int, connection: Watched) -> None:
        """Call `on_writable` as long as `fd` takes bytes, or is hung up."""

    def remove_reader(self, fd: int) -> None:
        """Stop calling `on_readable` for `fd`; do nothing if it is not watched for reading."""

    def remove_writer(self, fd: int) -> None:
        """Stop calling `on_writable` for `fd`; do nothing if it is not watched for writing."""

    def send_soon(self, send: Callable[[list[Piece]], object], pieces: list[Piece]) -> None:
        """Call `send(pieces)` now, or together with the sends of others, before the next event of its
        connection.
        """

    def send_file(self, sock: socket, file: int, position: int, count: int) -> int:
        """Send up to `count` bytes of an open file and return how many were sent, 0 at the file's end. Raises
        OSError.
        """

    def close(self) -> None:
        """Stop watching all sockets."""
