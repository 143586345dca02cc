"""Unsent answers of one connection: small pieces joined, big ones as they are, file ranges sent straight from
their files, and lazy pieces made a part at a time.
"""

from __future__ import annotations

import os
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from kcompat.net.sizes import JOIN_LIMIT, KIB

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import TypeIs

    from kcompat.net.answers import FileSlice, LazyPiece, Piece

Buffer: TypeAlias = bytes | bytearray | memoryview

SENDFILE_MIN: Final = 16 * KIB
"""Bytes of the shortest file range that is sent from its file; shorter ones are read and joined with their
neighbours."""
MAX_PIECES: Final = 64
"""Maximum number of pieces sent at a time."""

LAZY_COST: Final = 8
"""Bytes of a connection's send budget that one byte of a `LazyPiece` costs: making one takes longer than
sending one."""

_BUFFERS: Final = (bytes, bytearray, memoryview)


class TruncatedRangeError(Exception):
    """Error of a file that ended before a range of it, or of a lazy piece shorter than promised: the answer
    cannot be finished.
    """


class Sink(Protocol):
    """Receiver of bytes, which takes as many as it can at the time and returns their number.

    Every method raises BlockingIOError when it can take none, another OSError when the peer is gone.
    """

    def send(self, data: Buffer) -> int:
        """Take the beginning of a buffer; return the number of bytes taken."""

    def send_buffers(self, buffers: list[Buffer], *, more: bool) -> int:
        """Take the beginning of some buffers, at least one; `more` means that further bytes follow."""

    def send_file(self, file: int, position: int, count: int) -> int:
        """Take up to `count` bytes of an open file from `position` on; return 0 if the file has ended."""


class OutQueue:
    """The pieces that a connection could not send at once; it exists only while there are some."""

    __slots__ = ("_lazy_left", "_pieces", "_range_sent", "memory", "progress_at")

    def __init__(self, now: float) -> None:
        self._pieces: deque[Piece] = deque()
        self._range_sent = 0
        self._lazy_left = 0
        self.memory = 0
        """Bytes held in memory; file ranges cost none."""
        self.progress_at = now
        """Loop time, in seconds, when the peer last took bytes."""

    def push(self, pieces: Iterable[Piece]) -> None:
        """Add an answer. Raises `TruncatedRangeError` or `OSError` if a short file range cannot be read."""
        small: list[Buffer] = []
        joined = 0
        for given in pieces:
            piece = given
            if not isinstance(piece, _BUFFERS):
                if is_lazy(piece) or piece.length >= SENDFILE_MIN:
                    self._push_joined(small)
                    small, joined = [], 0
                    self._pieces.append(piece)
                    continue
                piece = _read(piece)
            size = len(piece)
            if joined + size > JOIN_LIMIT:
                self._push_joined(small)
                small, joined = [], 0
            small.append(piece)
            joined += size
        self._push_joined(small)

    def _push_joined(self, small: list[Buffer]) -> None:
        piece = small[0] if len(small) == 1 else b"".join(small)
        if len(piece):
            self._pieces.append(piece)
            self.memory += len(piece)

    def send(self, sink: Sink, budget: int, now: float) -> bool:
        """Send until all is sent, `sink` is full or about `budget` bytes were sent; return whether all is
        sent.

        Raises `TruncatedRangeError`, and `OSError` when the peer is gone or the file cannot be read.
        """
        try:
            while self._pieces:
                head = self._pieces[0]
                if is_lazy(head):
                    budget -= LAZY_COST * self._make(head)
                    sent = self._send_buffers(sink)
                elif isinstance(head, _BUFFERS):
                    sent = self._send_buffers(sink)
                else:
                    sent = self._send_range(sink, head, budget)
                self.progress_at = now
                budget -= sent
                if budget <= 0:
                    break
        except (BlockingIOError, InterruptedError):
            pass
        return not self._pieces

    def _send_buffers(self, sink: Sink) -> int:
        batch: list[Buffer] = []
        more = False
        for piece in islice(self._pieces, MAX_PIECES):
            if not isinstance(piece, _BUFFERS):
                more = True  # let the head of an answer travel with the file range behind it
                break
            batch.append(piece)
        sent = sink.send_buffers(batch, more=more)
        self.memory -= sent
        left = sent
        for piece in batch:
            if left < len(piece):
                if left:
                    self._pieces[0] = memoryview(piece)[left:]
                break
            left -= len(piece)
            self._pieces.popleft()
        return sent

    def _make(self, head: LazyPiece) -> int:
        """Make the next bytes of the lazy piece at the head of the queue, put them before its rest, and
        return their number.
        """
        left = self._lazy_left or len(head)
        made = head.next_piece()
        if not made:
            raise TruncatedRangeError(f"{left} bytes of an answer were not made")
        self._lazy_left = left - len(made)
        if not self._lazy_left:
            self._pieces.popleft()
        self._pieces.appendleft(made)
        self.memory += len(made)
        return len(made)

    def _send_range(self, sink: Sink, head: FileSlice, budget: int) -> int:
        offset = self._range_sent
        sent = sink.send_file(head.fileno(), head.position + offset, min(head.length - offset, budget))
        if not sent:
            raise TruncatedRangeError(f"the file ended {head.length - offset} bytes before its range")
        if offset + sent == head.length:
            self._pieces.popleft()
            self._range_sent = 0
        else:
            self._range_sent = offset + sent
        return sent


def is_lazy(piece: Piece) -> TypeIs[LazyPiece]:
    """Return whether the bytes of a piece are made while it is sent."""
    return hasattr(piece, "next_piece")


def joined(pieces: Iterable[Piece]) -> bytes | None:
    """Return the bytes of buffers and short file ranges as one; None if a range is long or a piece is lazy.

    Raises `TruncatedRangeError` or `OSError` if a range cannot be read.
    """
    buffers: list[Buffer] = []
    for piece in pieces:
        if isinstance(piece, _BUFFERS):
            buffers.append(piece)
        elif is_lazy(piece) or piece.length >= SENDFILE_MIN:
            return None
        else:
            buffers.append(_read(piece))
    return b"".join(buffers)


def _read(piece: FileSlice) -> bytes:
    """Return the bytes of a short file range."""
    data = os.pread(piece.fileno(), piece.length, piece.position)
    if len(data) != piece.length:
        raise TruncatedRangeError(f"the file ended {piece.length - len(data)} bytes before its range")
    return data
