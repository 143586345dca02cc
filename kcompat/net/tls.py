"""A conversation on a socket, encrypted with TLS by OpenSSL.

Bytes are received into a buffer that all connections of a loop share, and go from there to OpenSSL through a
buffer of the connection (`ssl.MemoryBIO`), which keeps the size that it once had, so it is filled with little
at a time. Encrypted bytes leave OpenSSL through a buffer that all connections share, emptied after each call
of OpenSSL. OpenSSL could read the socket itself, but with two system calls for each record, and librdkafka
sends two records for each message.

The handshake is made in steps, as its messages arrive. Frames are handed on after it.
"""

from __future__ import annotations

import os
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kcompat.net.gate import CLOSED
from kcompat.net.sizes import KIB
from kcompat.net.socket_stream import SocketStream
from kcompat.notices.causes import CERTIFICATE, PLAIN_ON_TLS_PORT, TLS_DAMAGED, TLS_HANDSHAKE
from kcompat.security.tls_server import CertificateError

if TYPE_CHECKING:
    import socket

    from kcompat.net.answers import FrameHandler
    from kcompat.net.hub import Hub
    from kcompat.net.out_queue import Buffer
    from kcompat.net.poller import Poller
    from kcompat.security.tls_server import TlsServer

RECORD: Final = 16 * KIB
"""Maximum number of bytes that one TLS record carries."""
RECEIVED: Final = 32 * KIB
"""Encrypted bytes received at a time."""
CHUNK: Final = 8 * RECORD
"""Bytes that are encrypted before they are sent. Bytes of a file are read that many at a time."""
LONGEST_READ_S: Final = 0.01
"""Seconds after which a read event receives no more, however fast the peer sends and whatever its
records cost OpenSSL."""

_NOT_TLS: Final = frozenset({"HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "WRONG_VERSION_NUMBER"})
"""OpenSSL's reasons to refuse first bytes that are not TLS."""
_NOT_TLS_ALERT: Final = b"\x15\x03\x03\x00\x02\x02\x50"
"""Unencrypted fatal alert `internal_error`: Kafka's answer to a client that does not speak TLS."""


class Scratch:
    """The buffers that all TLS connections of a loop share."""

    def __init__(self, hub: Hub) -> None:  # noqa: ARG002 - as `Hub.share` calls it
        self.received = memoryview(bytearray(RECEIVED))
        """Buffer for encrypted bytes from a socket."""
        self.chunk = memoryview(bytearray(CHUNK))
        """Buffer for bytes of a file that are to be encrypted."""
        self.outgoing = ssl.MemoryBIO()
        """Buffer for what OpenSSL has encrypted, empty between two calls of OpenSSL."""

    def close(self) -> None:
        """Do nothing: the garbage collector frees the buffers."""


class TlsConnection(SocketStream):
    """A connected, non-blocking socket of one peer, which carries TLS."""

    __slots__ = (
        "_encrypted",
        "_encrypted_from",
        "_ending",
        "_handshake_ends",
        "_incoming",
        "_is_at_end",
        "_messages",
        "_outgoing",
        "_reads_soon",
        "_scratch",
        "_server",
        "_tls",
    )

    def __init__(
        self,
        hub: Hub,
        poller: Poller,
        sock: socket.socket,
        handler: FrameHandler,
        listener_name: str,
        peer: tuple[str, int],
        local_address: tuple[str, int],
        *,
        server: TlsServer,
    ) -> None:
        super().__init__(hub, poller, sock, handler, listener_name, peer, local_address)
        self._server = server
        self._scratch = hub.share(Scratch)
        self._incoming = ssl.MemoryBIO()
        self._outgoing = self._scratch.outgoing
        self._tls = server.wrap(self._incoming, self._outgoing)
        self._messages = b""  # OpenSSL's own, unsent: of the handshake, of new keys, alerts
        self._encrypted: list[Buffer] = []  # what the socket has not taken
        self._encrypted_from = 0  # bytes of answers that `_encrypted` was made of
        self._ending = ""  # why the stream has ended, if it has
        self._is_at_end = False  # OpenSSL gives no more bytes of the stream
        self._reads_soon = False  # `_read_rest` will be called
        self._handshake_ends = hub.loop.time() + hub.limits.handshake_deadline_s  # 0: it is done
        self.resume_reading()

    # The handshake

    def _shake_hands(self) -> None:
        """Continue the handshake with the received bytes."""
        self._fetch()
        if self._ending:
            self.close(self._ending)
            return
        try:
            try:
                self._tls.do_handshake()
            finally:
                self._take_messages()
        except ssl.SSLWantReadError:
            self._flush_handshake()
            return
        except ssl.SSLError as error:
            self._handshake_failed(error)
            return
        self._handshake_ends = 0.0
        self._deadline = self._hub.loop.time() + self._hub.limits.header_deadline_s
        self._flush_handshake()
        try:
            self.principal = self._server.principal(self._tls)
        except CertificateError as error:
            self.complain(CERTIFICATE, reason=error)
            self.close("refused certificate")
        except Exception as error:  # nobody may stay in without the name that the certificate gives
            self.request_failed(error)
            self.close("failed request")

    def _flush_handshake(self) -> None:
        """Send the messages of the handshake. Bytes that the socket does not take are sent before the first
        answer.
        """
        if self._messages:
            self._queue_messages()
        try:
            self._send_encrypted()
        except BlockingIOError:
            pass
        except OSError:
            self.close("disconnected")

    def _handshake_failed(self, error: ssl.SSLError) -> None:
        if error.reason in _NOT_TLS:
            alert = _NOT_TLS_ALERT
            self.complain(PLAIN_ON_TLS_PORT)
        else:
            alert = self._messages
            self.complain(TLS_HANDSHAKE, reason=_explained(error))
        with suppress(OSError):
            self._socket.send(alert)
            self._socket.recv_into(
                self._scratch.received
            )  # unread bytes would make the system drop the alert
        self.close("failed handshake")

    def overdue(self, now: float) -> str | None:
        if self._handshake_ends:
            return "unfinished handshake" if now > self._handshake_ends else None
        return super().overdue(now)

    # Receiving

    def on_readable(self) -> None:
        """Receive the available bytes; called by the poller."""
        try:
            self._read()
        except Exception as error:
            self.failed(error)

    def _read(self) -> None:
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

    def _receive(self, room: memoryview) -> int:
        """Decrypt received bytes to `room` and return their number; the end of the stream sets `_ending`.

        Bytes after the end that the peer has announced are ignored. Many records without data count as the
        end of the stream, because they take OpenSSL's time, or fill its memory with alerts, without limit.
        """
        size, count, has_more, now = len(room), 0, not self._ending, self._hub.loop.time
        ends, fetched = now() + LONGEST_READ_S, 0
        try:
            while count < size and not self._is_at_end:
                if not (self._incoming.pending or self._tls.pending()):
                    if not has_more:
                        break
                    fetched = self._fetch()
                    has_more = fetched == RECEIVED and now() < ends
                before, count = count, self._decrypt(room, count)
                if (count == before and fetched == RECEIVED) or len(self._messages) > RECORD:
                    self._damaged("records without data")
        except ssl.SSLError as error:
            self._damaged(_explained(error))
        return count

    def _damaged(self, problem: str) -> None:
        self._ending, self._is_at_end = "damaged TLS", True
        self.complain(TLS_DAMAGED, reason=problem)

    def _fetch(self) -> int:
        """Receive encrypted bytes for OpenSSL and return their number."""
        received = self._scratch.received
        try:
            count = self._socket.recv_into(received)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            count = 0
        if count:
            self._incoming.write(received[:count])
        else:
            self._ending = "disconnected"
        return count

    def _decrypt(self, room: memoryview, count: int) -> int:
        """Decrypt the whole records that OpenSSL has to `room[count:]`; return where they end there."""
        read, incoming, size = self._tls.read, self._incoming, len(room)
        try:
            while count < size:
                got: int = read(size - count, room[count:])  # type: ignore[assignment]
                if not got:  # the peer has announced its end
                    self._ending, self._is_at_end = "disconnected", True
                    break
                count += got
                if not incoming.pending:
                    break
        except ssl.SSLWantReadError:
            pass
        finally:
            self._take_messages()
        return count

    def _read_rest_soon(self) -> None:
        """Read remaining decrypted bytes in the next iteration, because the socket does not report them.

        They are not read at once, because answers may wait for the end of this event (`transmit_soon`).
        """
        if not self._reads_soon and (self._ending or self._incoming.pending or self._tls.pending()):
            self._reads_soon = True
            self._hub.loop.call_soon(self._read_rest)

    def _read_rest(self) -> None:
        self._reads_soon = False
        if not self._gate & CLOSED:
            self.on_readable()

    def resume_reading(self) -> None:
        self._poller.add_reader(self._socket.fileno(), self.on_readable)
        self._read_rest_soon()

    # Sending

    def send(self, data: Buffer) -> int:
        """Encrypt and send the beginning of a buffer (see `out_queue.Sink`).

        Bytes count as taken once the socket has all that they were encrypted to. Until then the queue of
        unsent answers offers them again, and they are not encrypted again.
        """
        view, sent = memoryview(data), 0
        try:
            while sent < len(view):
                if not self._encrypted_from:
                    self._encrypt(view[sent : sent + CHUNK])
                sent += self._send_encrypted()
        except BlockingIOError:
            if not sent:
                raise
        return sent

    def _encrypt(self, chunk: memoryview) -> None:
        if self._messages:
            self._queue_messages()
        try:
            self._encrypted_from = self._tls.write(chunk)
        finally:  # the next connection must find the shared buffer empty
            self._encrypted.append(self._outgoing.read())

    def _take_messages(self) -> None:
        """Take OpenSSL's own messages from the shared buffer; call this after each call of OpenSSL that may
        leave some.
        """
        if self._outgoing.pending:
            self._messages += self._outgoing.read()

    def _queue_messages(self) -> None:
        """Let OpenSSL's own messages be sent before all that is encrypted from now on."""
        self._encrypted.append(self._messages)
        self._messages = b""

    def _send_encrypted(self) -> int:
        """Send all encrypted bytes; return the number of unencrypted bytes that they were made of.

        Raises BlockingIOError when the socket takes no more, another OSError when the peer is gone.
        """
        pieces = self._encrypted
        while pieces:
            sent = self._socket.sendmsg(pieces)
            while pieces and sent >= len(pieces[0]):
                sent -= len(pieces.pop(0))
            if sent:
                pieces[0] = memoryview(pieces[0])[sent:]
        taken, self._encrypted_from = self._encrypted_from, 0
        return taken

    def send_buffers(self, buffers: list[Buffer], *, more: bool) -> int:  # noqa: ARG002
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
        if not self._encrypted_from:
            chunk = self._scratch.chunk[: min(count, CHUNK)]
            size = os.preadv(file, (chunk,), position)
            if not size:
                return 0
            self._encrypt(chunk[:size])
        return self._send_encrypted()

    def hang_up(self) -> None:
        if not self._handshake_ends and not self._encrypted:
            with suppress(ssl.SSLError, ValueError):  # the peer need not answer
                self._tls.unwrap()
            self._take_messages()
            with suppress(OSError):
                self._socket.send(self._messages)
        super().hang_up()


def _explained(error: ssl.SSLError) -> str:
    """Return OpenSSL's reason in words; for a refused certificate, the fault of the certificate."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the client's certificate is refused: {error.verify_message}"
    return (error.reason or "no reason given").replace("_", " ").lower()
