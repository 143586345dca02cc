"""A conversation on a socket, without encryption.

The class derives from the conversation and does not hold one: a second object would cost every connection
memory, and every request more calls.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Final

from kcompat.net.socket_stream import SocketStream

if TYPE_CHECKING:
    from kcompat.net.answers import FrameHandler
    from kcompat.net.hub import Hub
    from kcompat.net.out_queue import Buffer
    from kcompat.net.poller import Poller

MSG_MORE: Final = getattr(socket, "MSG_MORE", 0)
"""Flag that tells Linux that more will be sent at once; 0 on systems that have no such flag."""


class PlainConnection(SocketStream):
    """A connected, non-blocking socket of one peer, which carries frames as they are."""

    __slots__ = ()

    def __init__(
        self,
        hub: Hub,
        poller: Poller,
        sock: socket.socket,
        handler: FrameHandler,
        listener_name: str,
        peer: tuple[str, int],
        local_address: tuple[str, int],
    ) -> None:
        super().__init__(hub, poller, sock, handler, listener_name, peer, local_address)
        poller.add_reader(sock.fileno(), self)

    def on_readable(self) -> None:
        """Receive the available bytes; called by the poller."""
        try:
            room = self.room()
            if room is None:
                self.stop_reading()
                return
            received = self._socket.recv_into(room)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            received = 0
        except Exception as error:
            self.failed(error)
            return
        if received:
            self.received(received)
        else:
            self.close("disconnected")

    def resume_reading(self) -> None:
        self._poller.add_reader(self._socket.fileno(), self)

    def send(self, data: Buffer) -> int:
        return self._socket.send(data)

    def send_buffers(self, buffers: list[Buffer], *, more: bool) -> int:
        flags = MSG_MORE if more else 0
        if len(buffers) == 1:
            return self._socket.send(buffers[0], flags)
        return self._socket.sendmsg(buffers, (), flags)

    def send_file(self, file: int, position: int, count: int) -> int:
        return self._poller.send_file(self._socket, file, position, count)
