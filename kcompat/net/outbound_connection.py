"""A connection of this broker to another one, on a non-blocking socket that the event loop watches.

These connections are few and their events come one at a time, so they need no poller beside the loop's.
"""

from __future__ import annotations

import errno
import logging
import os
import socket
from typing import TYPE_CHECKING, Final

from kcompat.faults import contained
from kcompat.net.frame_reader import BadFrameError
from kcompat.net.name_lookup import look_up
from kcompat.net.outbound import Ending
from kcompat.net.sizes import MIB
from kcompat.net.sockets import hang_up

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from kcompat.net.frame_reader import FrameReader
    from kcompat.net.name_lookup import Address
    from kcompat.net.outbound import Receiver

logger = logging.getLogger(__name__)

ITERATION_BUDGET: Final = MIB
"""Bytes that one connection may receive per iteration of the event loop, so that it does not delay the
others."""

_UNDER_WAY: Final = (0, errno.EINPROGRESS, errno.EWOULDBLOCK)


class SocketConnection:
    """An `Outbound`: it is being opened, then open, then closed."""

    __slots__ = (
        "_addresses",
        "_frames",
        "_is_closed",
        "_loop",
        "_receive_buffer",
        "_receiver",
        "_socket",
        "_timer",
        "_unsent",
        "_worst",
    )

    def __init__(
        self, loop: asyncio.AbstractEventLoop, receiver: Receiver, frames: FrameReader, receive_buffer: int
    ) -> None:
        self._loop = loop
        self._receiver = receiver
        self._frames = frames
        self._receive_buffer = receive_buffer
        self._addresses: list[Address] = []  # still to be tried
        self._worst = Ending.REFUSED  # the ending to report, by the addresses tried so far
        self._socket: socket.socket | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._unsent = bytearray()
        self._is_closed = False

    # Connecting

    def open(self, address: tuple[str, int], timeout_ms: float) -> None:
        """Start to connect. Called once."""
        self._timer = self._loop.call_later(timeout_ms / 1000, self._end, Ending.TIMED_OUT)
        look_up(self._loop, *address, self._found)

    def _found(self, addresses: Sequence[Address]) -> None:
        if not addresses:
            self._worst = Ending.UNREACHABLE
        self._addresses = list(addresses)
        self._try_next()

    def _try_next(self) -> None:
        """Connect to the next address; after the last one, end with the reason that the attempts gave.

        The reason is REFUSED only if all addresses refused.
        """
        while self._addresses and not self._is_closed:
            family, address = self._addresses.pop(0)
            try:
                sock = self._socket = socket.socket(family, socket.SOCK_STREAM)
                sock.setblocking(False)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                if self._receive_buffer >= 0:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._receive_buffer)
                failure = sock.connect_ex(address)
            except OSError as error:
                failure = error.errno or errno.EIO
            if failure in _UNDER_WAY:
                self._loop.add_writer(sock.fileno(), self._connected)
                return
            self._failed_there(failure)
        self._end(self._worst)

    def _failed_there(self, failure: int) -> None:
        ending = _ending_of(failure)
        if ending is not Ending.REFUSED:
            self._worst = ending
        self._drop_socket()

    def _connected(self) -> None:
        sock = self._socket
        assert sock is not None
        self._loop.remove_writer(sock.fileno())
        failure = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) or talks_to_itself(sock)
        if failure:
            self._failed_there(failure)
            self._try_next()
            return
        self._begin(sock)

    def _begin(self, sock: socket.socket) -> None:
        """Serve the connection, now that the peer has accepted it."""
        self._stop_timer()
        self._loop.add_reader(sock.fileno(), self._on_readable)
        with contained("what a connection to another broker was opened for"):
            self._receiver.connected()

    # Frames in

    def _on_readable(self) -> None:
        budget = ITERATION_BUDGET
        try:
            while budget > 0 and self._socket is not None:
                count, has_room = self._receive(self._socket)
                if not count:
                    self._end(Ending.CLOSED)
                    return
                budget -= count
                self._hand_on(count)
                if has_room:
                    return
        except (BlockingIOError, InterruptedError):
            pass
        except BadFrameError as error:
            logger.warning("A connection to another broker is closed: %s", error)
            self._end(Ending.BAD_FRAME)
        except OSError as error:
            self._end(self._ending(error))

    def _receive(self, sock: socket.socket) -> tuple[int, bool]:
        """Receive bytes; return how many came, and whether more would have fitted.

        No view of the receive buffer outlives this call: the frame reader does not reuse a buffer with views.
        """
        room = self._frames.room()
        count = sock.recv_into(room)
        return count, count < len(room)

    def _hand_on(self, count: int) -> None:
        for frame in self._frames.received(count):
            if self._is_closed:
                return
            with contained("what received a frame of another broker"):
                self._receiver.received(frame)

    # Frames out

    def send(self, pieces: Sequence[bytes | bytearray | memoryview]) -> None:
        sock = self._socket
        if sock is None:
            return  # ended: the receiver knows, or has closed the connection itself
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if self._unsent:
            self._unsent += data
            return
        try:
            sent = self._transmit(sock, data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError as error:
            # Only after this returns: the caller of `send` must not be called back inside it.
            self._loop.call_soon(self._end, self._ending(error))
            return
        if sent < len(data):
            self._unsent += memoryview(data)[sent:]
            self._loop.add_writer(sock.fileno(), self._on_writable)

    def _on_writable(self) -> None:
        sock = self._socket
        assert sock is not None
        try:
            del self._unsent[: self._transmit(sock, self._unsent)]
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._end(self._ending(error))
            return
        if not self._unsent:
            self._loop.remove_writer(sock.fileno())

    def _transmit(self, sock: socket.socket, data: bytes | bytearray | memoryview) -> int:
        """Send as many of the first bytes as the system takes now; return how many. Raises OSError."""
        return sock.send(data)

    # The end

    def _ending(self, error: Exception) -> Ending:
        """Return the ending that an error of the socket stands for."""
        return _ending_of(error.errno if isinstance(error, OSError) else None)

    def close(self) -> None:
        self._is_closed = True
        self._stop_timer()
        self._drop_socket()

    def _end(self, ending: Ending) -> None:
        if self._is_closed:
            return
        self.close()
        with contained("what was told of the end of a connection to another broker"):
            self._receiver.ended(ending)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _drop_socket(self) -> None:
        sock, self._socket = self._socket, None
        if sock is not None:
            self._loop.remove_reader(sock.fileno())
            self._loop.remove_writer(sock.fileno())
            hang_up(sock)


def talks_to_itself(sock: socket.socket) -> int:
    """Return ECONNREFUSED if a socket is connected to itself, else 0.

    The system may choose the port that a socket connects to as its own source port, if nothing listens there.
    The socket is then connected to itself, and would hold the port of a broker that restarts.
    """
    try:
        return errno.ECONNREFUSED if sock.getsockname() == sock.getpeername() else 0
    except OSError as error:  # the connection has ended already
        return error.errno or errno.EIO


def _ending_of(number: int | None) -> Ending:
    """Return the ending that a system error number stands for."""
    match number:
        case errno.ECONNREFUSED:
            return Ending.REFUSED
        case errno.ECONNRESET | errno.EPIPE | errno.ECONNABORTED:
            return Ending.RESET
        case errno.ETIMEDOUT:
            return Ending.TIMED_OUT
    logger.info("A connection to another broker failed: %s", os.strerror(number or errno.EIO))
    return Ending.UNREACHABLE
