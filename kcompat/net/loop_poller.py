"""A poller for any system: the event loop watches each socket, and files are read into memory and sent."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from kcompat.net.sizes import KIB

if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket

    from kcompat.net.answers import Piece
    from kcompat.net.hub import Hub
    from kcompat.net.poller import Reader, Watched

READ_SIZE: Final = 256 * KIB
"""Bytes of a file read at a time; bytes that the socket does not take are read again."""


class LoopPoller:
    """A `Poller` on the event loop's own watches, which works on every system."""

    __slots__ = ("_loop",)

    def __init__(self, hub: Hub) -> None:
        self._loop = hub.loop

    def add_reader(self, fd: int, reader: Reader) -> None:
        self._loop.add_reader(fd, reader if callable(reader) else reader.on_readable)

    def add_writer(self, fd: int, connection: Watched) -> None:
        self._loop.add_writer(fd, connection.on_writable)

    def remove_reader(self, fd: int) -> None:
        self._loop.remove_reader(fd)

    def remove_writer(self, fd: int) -> None:
        self._loop.remove_writer(fd)

    def send_soon(self, send: Callable[[list[Piece]], object], pieces: list[Piece]) -> None:
        send(pieces)

    def send_file(self, sock: socket, file: int, position: int, count: int) -> int:
        return sock.send(os.pread(file, min(count, READ_SIZE), position))

    def close(self) -> None:
        """Do nothing: each connection has removed its own watches."""
