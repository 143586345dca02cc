"""A stream on a socket that a poller watches: the part that plain and encrypted connections share."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from kcompat.net.sockets import hang_up
from kcompat.net.stream import Stream

if TYPE_CHECKING:
    from socket import socket

    from kcompat.net.answers import FrameHandler, Piece
    from kcompat.net.hub import Hub
    from kcompat.net.poller import Poller


class SocketStream(Stream):
    """A connected, non-blocking socket of one peer. Subclasses read and write it, and watch for reading."""

    __slots__ = ("_poller", "_socket")

    def __init__(
        self,
        hub: Hub,
        poller: Poller,
        sock: socket,
        handler: FrameHandler,
        listener_name: str,
        peer: tuple[str, int],
        local_address: tuple[str, int],
    ) -> None:
        """Make the conversation of a socket; `peer` and `local_address` are a host and a port each."""
        super().__init__(hub, handler, listener_name, peer, local_address)
        self._poller = poller
        self._socket = sock

    @abstractmethod
    def on_readable(self) -> None:
        """Receive the available bytes."""

    def hang_up(self) -> None:
        fileno = self._socket.fileno()
        self._poller.remove_reader(fileno)
        self._poller.remove_writer(fileno)
        hang_up(self._socket)

    def transmit_soon(self, pieces: list[Piece]) -> None:
        self._poller.send_soon(self.transmit, pieces)

    def stop_reading(self) -> None:
        """Stop watching for received bytes, until `resume_reading`."""
        self._poller.remove_reader(self._socket.fileno())

    def watch_writable(self) -> None:
        self._poller.add_writer(self._socket.fileno(), self)

    def unwatch_writable(self) -> None:
        self._poller.remove_writer(self._socket.fileno())
