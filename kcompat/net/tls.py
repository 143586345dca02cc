"""A conversation on a socket, encrypted with TLS by OpenSSL.

OpenSSL reads and writes the socket itself, one record at a time, and has the buffers of a record only while
one is half received or half sent. With buffers in memory between OpenSSL and the socket, each connection
would keep the largest that it ever needed, and each byte would be copied twice more.

The handshake is made in steps, as its messages arrive. Frames are handed on after it.
"""

from __future__ import annotations

import os
import socket
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kcompat.net.gate import CLOSED
from kcompat.net.sizes import KIB
from kcompat.net.socket_stream import SocketStream
from kcompat.security.tls_server import CertificateError

if TYPE_CHECKING:
    from kcompat.net.answers import FrameHandler
    from kcompat.net.hub import Hub
    from kcompat.net.out_queue import Buffer
    from kcompat.net.poller import Poller
    from kcompat.security.tls_server import TlsServer

RECORD: Final = 16 * KIB
"""Most bytes that one TLS record carries, and that OpenSSL gives in one call."""
CHUNK: Final = 64 * KIB
"""Bytes given to OpenSSL at a time, four records. Bytes of a file are read again if the socket does not take
them."""

_NOT_TLS: Final = frozenset({"HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "WRONG_VERSION_NUMBER"})
"""OpenSSL's reasons to refuse first bytes that are no TLS at all."""
_NOT_TLS_ALERT: Final = b"\x15\x03\x03\x00\x02\x02\x50"
"""Unencrypted fatal alert `internal_error`: Kafka's answer to a client that does not speak TLS."""


class ChunkBuffer:
    """The buffer through which all connections of a loop send parts of files."""

    def __init__(self, hub: Hub) -> None:  # noqa: ARG002 - as `Hub.share` calls it
        self.view = memoryview(bytearray(CHUNK))

    def close(self) -> None:
        """Do nothing: the memory goes with the buffer."""


class TlsConnection(SocketStream):
    """A connected, non-blocking TLS socket of one peer; `server.wrap` made it."""

    __slots__ = ("_chunk", "_ending", "_handshake_ends", "_reads_soon", "_server", "_tls")

    def __init__(
        self,
        hub: Hub,
        poller: Poller,
        sock: ssl.SSLSocket,
        handler: FrameHandler,
        listener_name: str,
        peer: tuple[str, int],
        local_address: tuple[str, int],
        *,
        server: TlsServer,
    ) -> None:
        super().__init__(hub, poller, sock, handler, listener_name, peer, local_address)
        self._tls = sock
        self._server = server
        self._chunk = hub.share(ChunkBuffer).view
        self._ending = ""  # why the stream has ended, if it has
        self._reads_soon = False  # `_read_rest` will be called
        self._handshake_ends = hub.loop.time() + hub.limits.handshake_deadline_s  # 0: it is done
        poller.add_reader(sock.fileno(), self.on_readable)

    # The handshake

    def _shake_hands(self) -> None:
        """Continue the handshake as far as the received bytes allow."""
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return
        except ssl.SSLWantWriteError:
            self.stop_reading()
            self.watch_writable()
            return
        except OSError as error:
            self._handshake_failed(error)
            return
        try:
            self.principal = self._server.principal(self._tls)
        except CertificateError as error:
            self._hub.complain(self.peer_host, f"connection closed: {error}")
            self.close("refused certificate")
            return
        self._handshake_ends = 0.0
        self._deadline = self._hub.loop.time() + self._hub.limits.header_deadline_s

    def _handshake_failed(self, error: OSError) -> None:
        if not isinstance(error, ssl.SSLError) or error.reason is None or isinstance(error, ssl.SSLEOFError):
            self.close("disconnected")
            return
        if error.reason in _NOT_TLS:
            with suppress(OSError):
                socket.socket.send(self._tls, _NOT_TLS_ALERT)
            problem = f"the client does not speak TLS, and listener {self.listener_name} does"
        else:
            problem = f"TLS handshake on listener {self.listener_name} failed: {_explained(error)}"
        self._hub.complain(self.peer_host, f"connection closed: {problem}")
        with suppress(OSError):  # unread bytes would make the system drop the alert
            socket.socket.recv(self._tls, RECORD)
        self.close("failed handshake")

    def overdue(self, now: float) -> str | None:
        if self._handshake_ends:
            return "unfinished handshake" if now > self._handshake_ends else None
        return super().overdue(now)

    # Receiving

    def on_readable(self) -> None:
        """Receive the available bytes; called by the poller."""
        if self._handshake_ends:
            self._shake_hands()
            if self._handshake_ends or self._gate & CLOSED:
                return
        room = self.room()
        if room is None:
            self.stop_reading()
            return
        count = self._receive(room)
        if count:
            self.received(count)
            self._read_rest_soon()
        elif self._ending:
            self.close(self._ending)

    def _read_rest_soon(self) -> None:
        """Read again in the next iteration if OpenSSL has more of a record than there was room for, which the
        socket does not show. Not at once: answers may wait for the end of this event (`transmit_soon`).
        """
        if not self._reads_soon and (self._ending or self._tls.pending()):
            self._reads_soon = True
            self._hub.loop.call_soon(self._read_rest)

    def _read_rest(self) -> None:
        self._reads_soon = False
        if not self._gate & CLOSED:
            self.on_readable()

    def _receive(self, room: memoryview) -> int:
        """Receive bytes into `room` and return their number; the end of the stream sets `_ending`."""
        if self._ending:
            return 0
        receive, size, count = self._tls.recv_into, len(room), 0
        try:
            while count < size:
                got = receive(room[count:])
                count += got
                if got < RECORD:  # most likely the last record of those that the peer wrote together
                    if not got:
                        self._ending = "disconnected"
                    break
        except ssl.SSLWantReadError:
            pass
        except OSError as error:
            self._ending = "disconnected"
            if isinstance(error, ssl.SSLError) and error.reason is not None:
                self._ending = "damaged TLS"
                self._hub.complain(self.peer_host, f"connection closed: damaged TLS: {_explained(error)}")
        return count

    def resume_reading(self) -> None:
        self._poller.add_reader(self._socket.fileno(), self.on_readable)
        self._read_rest_soon()

    # Sending

    def on_writable(self) -> None:
        if not self._handshake_ends:
            super().on_writable()
            return
        self.unwatch_writable()
        self.resume_reading()
        self._shake_hands()

    def send(self, data: Buffer) -> int:
        """Encrypt and send the beginning of a buffer (see `out_queue.Sink`).

        OpenSSL may have encrypted and sent a part of a chunk when the socket takes no more. It wants to be
        given the same bytes again; the queue of unsent answers offers them next.
        """
        write, view, sent = self._tls.write, memoryview(data), 0
        try:
            while sent < len(view):
                sent += write(view[sent : sent + CHUNK])
        except ssl.SSLWantWriteError:
            if not sent:
                raise BlockingIOError from None
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError) as error:
            raise ConnectionError from error
        return sent

    def send_buffers(self, buffers: list[Buffer], *, more: bool) -> int:  # noqa: ARG002 - each is a record
        sent = 0
        try:
            for buffer in buffers:
                taken = self.send(buffer)
                sent += taken
                if taken < len(buffer):
                    break
        except BlockingIOError:
            if not sent:
                raise
        return sent

    def send_file(self, file: int, position: int, count: int) -> int:
        chunk = self._chunk[: min(count, CHUNK)]
        size = os.preadv(file, (chunk,), position)
        return self.send(chunk[:size])

    def hang_up(self) -> None:
        if not self._handshake_ends:
            with suppress(
                OSError, ValueError
            ):  # the peer need not answer: the end is sent, then the socket's
                self._tls.unwrap()
        super().hang_up()


def _explained(error: ssl.SSLError) -> str:
    """Return OpenSSL's reason in words; for a refused certificate, what is wrong with it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the client's certificate is refused: {error.verify_message}"
    return error.reason.replace("_", " ").lower()
