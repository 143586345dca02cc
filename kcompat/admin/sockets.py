"""A blocking connection that carries frames: the port `net.outbound` for programs without an event loop."""

from __future__ import annotations

import socket
import struct
import time
from typing import TYPE_CHECKING, Final, cast

from kcompat.admin.waiting import await_data, stoppable
from kcompat.net.outbound import Ending

if TYPE_CHECKING:
    from collections.abc import Sequence
    from ssl import SSLContext, SSLSocket

    from kcompat.net.outbound import Receiver

_LENGTH: Final = struct.Struct(">i").unpack
_READ_AHEAD: Final = 64 * 1024


class BlockingSocket:
    """An `Outbound` whose owner calls `pump`: the only place where it waits and calls its receiver."""

    def __init__(
        self,
        address: tuple[str, int],
        receiver: Receiver,
        *,
        timeout_ms: float,
        max_frame: int,
        receive_buffer: int = -1,  # noqa: ARG002 - the system's size will do
        tls: SSLContext | None = None,
    ) -> None:
        """Prepare the connection, a `Connect`; the first `pump` connects within `timeout_ms`."""
        self._address = address
        self._receiver = receiver
        self._timeout_s = timeout_ms / 1000
        self._max_frame = max_frame
        self._tls = tls
        self._socket: socket.socket | None = None
        self._received = bytearray()
        self.fault: Exception | None = None
        """The system's or OpenSSL's reason for the end of the connection."""
        self.is_closed = False

    def pump(self, until_s: float) -> bool:
        """Connect, or else receive one frame, and tell the receiver; return False if `until_s`, in the time
        of `time.monotonic`, came before.
        """
        if self._socket is None:
            self._open(min(until_s, time.monotonic() + self._timeout_s))
            return True
        try:
            frame = self._frame(self._socket, until_s)
        except TimeoutError:
            return False
        except OSError as error:
            self._end(_ending(error), error)
        else:
            if frame is not None:
                self._receiver.received(frame)
        return True

    def send(self, pieces: Sequence[bytes | bytearray | memoryview]) -> None:
        if self._socket is None:
            return
        try:
            self._socket.settimeout(self._timeout_s)
            self._socket.sendall(b"".join(pieces))
        except OSError as error:
            self.fault = error  # the next pump meets the same end and tells the receiver

    def close(self) -> None:
        self.is_closed = True
        if self._socket is not None:
            self._socket.close()

    def _open(self, until_s: float) -> None:
        try:
            with stoppable():  # the next pump begins anew
                self._socket = self._connected(max(until_s - time.monotonic(), 0.001))
        except (OSError, ValueError) as error:
            self._end(_ending(error), error)
        else:
            self._receiver.connected()

    def _connected(self, timeout_s: float) -> socket.socket:
        plain = socket.create_connection(self._address, timeout_s)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._tls is None:
            return plain
        return self._tls.wrap_socket(plain, server_hostname=self._address[0])

    def _frame(self, sock: socket.socket, until_s: float) -> memoryview | None:
        """Return the next whole frame. If the connection has ended, tell the receiver and return None."""
        if not self._fill(sock, 4, until_s):
            return None
        (length,) = _LENGTH(self._received[:4])
        if not 0 <= length <= self._max_frame:
            self._end(Ending.BAD_FRAME, None)
            return None
        if not self._fill(sock, 4 + length, until_s):
            return None
        frame = memoryview(self._received)[4 : 4 + length]
        self._received = self._received[4 + length :]
        return frame

    def _fill(self, sock: socket.socket, count: int, until_s: float) -> bool:
        """Receive until there are `count` bytes; False if the peer has closed the connection."""
        while len(self._received) < count:
            if self._tls is None or not cast("SSLSocket", sock).pending():
                await_data(sock, until_s)
            sock.settimeout(max(until_s - time.monotonic(), 0.001))
            data = sock.recv(max(count - len(self._received), _READ_AHEAD))
            if not data:
                self._end(Ending.CLOSED, None)
                return False
            self._received += data
        return True

    def _end(self, ending: Ending, fault: Exception | None) -> None:
        self.fault = fault
        self.close()
        self._receiver.ended(ending)


def _ending(error: Exception) -> Ending:
    if isinstance(error, ConnectionRefusedError):
        return Ending.REFUSED
    if isinstance(error, ConnectionError):
        return Ending.RESET
    if isinstance(error, TimeoutError):
        return Ending.TIMED_OUT
    if isinstance(error, ValueError) or type(error).__module__ == "ssl":
        return Ending.UNTRUSTED
    return Ending.UNREACHABLE
