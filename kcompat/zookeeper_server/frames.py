"""Whole frames from bytes that come in any pieces."""

from __future__ import annotations

from struct import Struct as Layout
from typing import Final

from kcompat.zookeeper_server.jute import MalformedError
from kcompat.zookeeper_server.records import MAX_BUFFER

LENGTH: Final = Layout(">i")
"""Before each frame."""


class RequestFrames:
    """Bytes received and not taken yet. Memory grows with what has come, never with what is announced."""

    __slots__ = ("_data", "_taken")

    def __init__(self) -> None:
        self._data = bytearray()
        self._taken = 0

    def __len__(self) -> int:
        return len(self._data) - self._taken

    @property
    def is_full(self) -> bool:
        """Whether there is a whole frame, however large, so that nothing more need be received."""
        return len(self) > MAX_BUFFER + LENGTH.size

    def add(self, data: bytes) -> None:
        """Bytes have come."""
        self._data += data

    def word(self) -> bytes:
        """The next four bytes, or fewer if there are no more: they stay."""
        return bytes(self._data[self._taken : self._taken + LENGTH.size])

    def next(self) -> bytes | None:
        """Take the next frame; None if it is not whole. Raises MalformedError for a length that is none."""
        if len(self) < LENGTH.size:
            return None
        (length,) = LENGTH.unpack_from(self._data, self._taken)
        if not 0 <= length <= MAX_BUFFER:
            raise MalformedError(f"a frame of {length} bytes")
        start = self._taken + LENGTH.size
        if len(self._data) < start + length:
            return None
        self._taken = start + length
        return bytes(memoryview(self._data)[start : start + length])

    def forget_taken(self) -> None:
        """Free what was taken, once for many frames."""
        del self._data[: self._taken]
        self._taken = 0

    def clear(self) -> None:
        """Drop all bytes and free their memory."""
        self._data.clear()
        self._taken = 0
