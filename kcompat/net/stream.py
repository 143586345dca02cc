"""A conversation over a transport that takes as many bytes as it can at a time: a socket, a pipe."""

from __future__ import annotations

import logging
from abc import abstractmethod
from typing import TYPE_CHECKING, Final

from kcompat.logger_names import SELECTOR
from kcompat.net.conversation import Conversation
from kcompat.net.gate import CLOSED, SENDING
from kcompat.net.out_queue import OutQueue, TruncatedRangeError, joined
from kcompat.net.sizes import JOIN_LIMIT, KIB, MIB
from kcompat.notices.causes import TOO_MANY_ANSWERS

if TYPE_CHECKING:
    from kcompat.net.answers import Piece
    from kcompat.net.out_queue import Buffer

logger = logging.getLogger(SELECTOR)

ITERATION_BUDGET: Final = MIB + 64 * KIB
"""Bytes that one conversation may send per iteration of the event loop: one answer with all that a follower
fetches of a partition (`replica.fetch.max.bytes`)."""


class Stream(Conversation):
    """A conversation that sends answers by the methods of an `out_queue.Sink`, which a transport has."""

    __slots__ = ()

    @abstractmethod
    def send(self, data: Buffer) -> int: ...

    @abstractmethod
    def send_buffers(self, buffers: list[Buffer], *, more: bool) -> int: ...

    @abstractmethod
    def send_file(self, file: int, position: int, count: int) -> int: ...

    @abstractmethod
    def watch_writable(self) -> None:
        """Call `on_writable` whenever the transport takes bytes, until `unwatch_writable`."""

    @abstractmethod
    def unwatch_writable(self) -> None:
        """Stop calling `on_writable`."""

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
        except Exception as error:
            self._send_failed(error)
            return
        self.on_writable()

    def _send_small(self, pieces: list[Piece]) -> list[Piece]:
        """Send pieces joined to one buffer, if none is a long file range or lazy; return the unsent ones."""
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
        """Continue to send `_out`, which is not empty: new answers were added, or the transport takes bytes
        again.
        """
        out = self._out
        assert out is not None
        try:
            drained = out.send(self, ITERATION_BUDGET, self._hub.now)
        except Exception as error:
            self._send_failed(error)
            return
        if drained:
            self._out = None
            if self._gate & SENDING:
                self.unwatch_writable()
                self.clear(SENDING)
        elif out.memory > self._hub.limits.max_unsent:
            self.complain(TOO_MANY_ANSWERS)
            self.close("too many unsent answers")
        elif not self._gate & SENDING:
            self._gate |= SENDING
            self.watch_writable()

    def _send_failed(self, error: Exception) -> None:
        """Close the connection after a failed send: the peer is gone, or an answer cannot be read or made."""
        if isinstance(error, (ConnectionError, TimeoutError)):
            self.close("disconnected")
            return
        unexpected = None if isinstance(error, (OSError, TruncatedRangeError)) else error
        logger.error(
            "%s: connection closed: an answer could not be sent: %s",
            self.peer_host,
            error,
            exc_info=unexpected,
        )
        self.close("failed answer")
