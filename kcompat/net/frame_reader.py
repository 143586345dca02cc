"""Bytes into frames, for a connection of ours. Pure: no IO.

Small frames are cut out of what was received together and copied. A big one is received into a buffer of its
size, straight from the socket. New memory is zeroed and faulted in, which costs as much as receiving, so the
buffer of the last big frame is used again once nobody looks at it any more.
"""

from __future__ import annotations

from typing import Final

from kcompat.net.frame_buffer import unpack_length
from kcompat.net.sizes import KIB, PREFIX

SCRATCH_SIZE: Final = 64 * KIB
SPARED_FRAMES: Final = 256
"""A big buffer that so many frames in a row had no use for is let go."""


class BadFrameError(Exception):
    """The peer announced a frame of a length that is not allowed."""


class FrameReader:
    """Asks where to receive, and gives whole frames of what came.

    `scratch` may be shared by readers, as long as `room` and `received` of one follow each other.
    """

    __slots__ = ("_filled", "_frame", "_max_frame", "_prefix", "_scratch", "_spare", "_unused")

    def __init__(self, scratch: memoryview, max_frame: int) -> None:
        self._scratch = scratch
        self._max_frame = max_frame
        self._prefix = b""  # of the next frame, where it has not come whole
        self._frame: memoryview | None = None  # that has begun
        self._filled = 0  # bytes of it
        self._spare: bytearray | None = None  # the buffer of the last big frame
        self._unused = 0  # frames since

    def room(self) -> memoryview:
        """Where to put the next bytes; it is never empty."""
        if self._frame is not None:
            return self._frame[self._filled :]
        held = len(self._prefix)
        if held:
            self._scratch[:held] = self._prefix
        return self._scratch[held:]

    def received(self, count: int) -> list[memoryview]:
        """The frames that are whole now that `count` bytes are at the beginning of what `room` last gave.

        Raises BadFrameError; nothing can be received after it.
        """
        frame = self._frame
        if frame is None:
            return self._cut(len(self._prefix) + count)
        self._filled += count
        if self._filled < len(frame):
            return []
        self._frame = None
        return [frame]

    def _cut(self, end: int) -> list[memoryview]:
        scratch = self._scratch
        frames: list[memoryview] = []
        start = 0
        while end - start >= PREFIX:
            length: int = unpack_length(scratch, start)[0]
            if not 0 < length <= self._max_frame:
                raise BadFrameError(f"a frame of {length} bytes; the largest allowed is {self._max_frame}")
            start += PREFIX
            if length > end - start:
                self._begin(length, scratch[start:end])
                start = end
                break
            frames.append(memoryview(bytearray(scratch[start : start + length])))
            start += length
        self._prefix = bytes(scratch[start:end])
        self._count_small(len(frames))
        return frames

    def _begin(self, length: int, begun: memoryview) -> None:
        buffer = self._spare
        if length <= len(self._scratch):
            buffer = bytearray(length)
            self._count_small(1)
        elif buffer is None or len(buffer) < length or not _is_unseen(buffer):
            buffer = self._spare = bytearray(length)
        else:
            self._unused = 0
        self._frame = memoryview(buffer)[:length]
        self._filled = len(begun)
        self._frame[: self._filled] = begun

    def _count_small(self, frames: int) -> None:
        self._unused += frames
        if self._unused > SPARED_FRAMES:
            self._spare = None
            self._unused = 0


def _is_unseen(buffer: bytearray) -> bool:
    """Whether nobody has a view of it: only then its size may change."""
    try:
        buffer.append(0)
    except BufferError:
        return False
    buffer.pop()
    return True
