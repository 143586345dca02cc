"""A conversation over a transport that takes as many bytes as it can at a time: a socket, a pipe."""

from __future__ import annotations

import logging
from abc import abstractmethod
from typing import TYPE_CHECKING, Final

from kcompat.net.conversation import Conversation
from kcompat.net.gate import CLOSED, SENDING
from kcompat.net.out_queue import OutQueue, TruncatedRangeError, joined
from kcompat.net.sizes import JOIN_LIMIT, KIB, MIB

if TYPE_CHECKING:
    from kcompat.net.answers import Piece
    from kcompat.net.out_queue import Buffer

logger = logging.getLogger(__name__)

ITERATION_BUDGET: Final = MIB + 64 * KIB
"""Bytes that one conversation may send per iteration of the event loop: an answer with as much as a follower
asks for of a partition (`replica.fetch.max.bytes`), whole.
"""


class Stream(Conversation):
    """Sends answers with the methods of an `out_queue.Sink`, which a transport provides."""

    __slots__ = ()

    @abstractmethod
    def send(self, data: Buffer) -> int: ...

    @abstractmethod
    def send_buffers(self, buffers: list[Buffer], *, more: bool) -> int: ...

    @abstractmethod
    def send_file(self, file: int, position: int, count: int) -> int: ...

    @abstractmethod
    def watch_writable(self) -> None:
        """Call `on_writable` as soon as more can be sent, and again and again until `unwatch_writable`."""

    @abstractmethod
    def unwatch_writable(self) -> None:
        """Call `on_writable` no more."""

    def transmit(self, pieces: list[Piece]) -> None:
        if self._gate & CLOSED:
            return
        try:
            if self._out is None:
                if sum(map(len, pieces)) <= JOIN_LIMIT:
                    pieces = self._send_small(pieces)
                    if not pieces:
                        return
                self._out = OutQueue(self._hub.now)
            self._out.push(pieces)
        except (OSError, TruncatedRangeError) as error:
            self._send_failed(error)
            return
        self.on_writable()

    def _send_small(self, pieces: list[Piece]) -> list[Piece]:
        """Send pieces as one, if all are buffers or short; what was not taken."""
        try:
            data = b"".join(pieces)  # type: ignore[arg-type]
        except TypeError:
            found = joined(pieces)
            if found is None:
                return pieces
            data = found
        try:
            sent = self.send(data)
        except (BlockingIOError, InterruptedError):
            return [data]
        return [memoryview(data)[sent:]] if sent < len(data) else []

    def on_writable(self) -> None:
        """Go on with `_out`, which has something: there are new answers, or the transport takes more."""
        out = self._out
        assert out is not None
        try:
            drained = out.send(self, ITERATION_BUDGET, self._hub.now)
        except (OSError, TruncatedRangeError) as error:
            self._send_failed(error)
            return
        if drained:
            self._out = None
            if self._gate & SENDING:
                self.unwatch_writable()
                self.clear(SENDING)
        elif out.memory > self._hub.limits.max_unsent:
            self._hub.complain(self.peer_host, "connection closed: too many unsent answers")
            self.close("too many unsent answers")
        elif not self._gate & SENDING:
            self._gate |= SENDING
            self.watch_writable()

    def _send_failed(self, error: Exception) -> None:
        """The peer is gone, or a file under an answer cannot be read."""
        if isinstance(error, (ConnectionError, TimeoutError)):
            self.close("disconnected")
            return
        logger.error("%s: connection closed: an answer could not be sent: %s", self.peer_host, error)
        self.close("failed answer")
