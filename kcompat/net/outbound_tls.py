"""A TLS connection of this broker to another one.

OpenSSL reads and writes the socket itself, so that a record is copied once, into the buffer of its frame.
"""

from __future__ import annotations

import logging
from ssl import SSLCertVerificationError, SSLEOFError, SSLError, SSLWantReadError, SSLWantWriteError
from typing import TYPE_CHECKING

from kcompat.net.outbound import Ending
from kcompat.net.outbound_connection import SocketConnection
from kcompat.net.sockets import hang_up

if TYPE_CHECKING:
    import asyncio
    import socket
    from ssl import SSLContext, SSLSocket

    from kcompat.net.frame_reader import FrameReader
    from kcompat.net.outbound import Receiver

logger = logging.getLogger(__name__)


class OutboundTlsConnection(SocketConnection):
    """An `Outbound` whose peer has shown a certificate before it is `connected`."""

    __slots__ = ("_context", "_host", "_tls")

    def __init__(
        self,
        context: SSLContext,
        host: str,
        loop: asyncio.AbstractEventLoop,
        receiver: Receiver,
        frames: FrameReader,
        receive_buffer: int,
    ) -> None:
        """`host` is the name that the peer's certificate must have, if the context checks it."""
        super().__init__(loop, receiver, frames, receive_buffer)
        self._context = context
        self._host = host
        self._tls: SSLSocket | None = None

    def _begin(self, sock: socket.socket) -> None:
        try:
            self._tls = self._context.wrap_socket(
                sock, server_hostname=self._host, do_handshake_on_connect=False
            )
        except (OSError, ValueError) as error:
            self._socket = None
            hang_up(sock)
            self._end(self._ending(error))
            return
        self._socket = self._tls
        self._shake()

    def _shake(self) -> None:
        """Go on with the handshake, as far as the peer has."""
        tls = self._tls
        assert tls is not None
        try:
            tls.do_handshake()
        except SSLWantReadError:
            self._loop.remove_writer(tls.fileno())
            self._loop.add_reader(tls.fileno(), self._shake)
        except SSLWantWriteError:
            self._loop.remove_reader(tls.fileno())
            self._loop.add_writer(tls.fileno(), self._shake)
        except OSError as error:
            self._end(self._ending(error))
        else:
            self._loop.remove_writer(tls.fileno())
            super()._begin(tls)

    def _on_readable(self) -> None:
        super()._on_readable()
        if self._socket is self._tls is not None and self._tls.pending():
            self._loop.call_soon(self._go_on)  # the socket does not tell of what OpenSSL has taken from it

    def _go_on(self) -> None:
        if self._socket is not None:
            self._on_readable()

    def _receive(self, sock: socket.socket) -> tuple[int, bool]:
        try:
            count, _ = super()._receive(sock)
        except (SSLWantReadError, SSLWantWriteError):
            raise BlockingIOError from None
        return count, False  # at most one record comes at a time

    def _transmit(self, sock: socket.socket, data: bytes | bytearray | memoryview) -> int:
        try:
            return super()._transmit(sock, data)
        except (SSLWantReadError, SSLWantWriteError):
            raise BlockingIOError from None

    def _ending(self, error: Exception) -> Ending:
        if isinstance(error, SSLEOFError):
            return Ending.CLOSED
        if isinstance(error, OSError) and not isinstance(error, SSLError):
            return super()._ending(error)
        reason = error.verify_message if isinstance(error, SSLCertVerificationError) else error
        logger.info("A TLS connection to %s failed: %s", self._host, reason)
        return Ending.UNTRUSTED
