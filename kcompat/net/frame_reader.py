"""Splits received bytes into frames, for connections to other brokers. Pure: no IO.

Small frames that were received together are copied, each into a buffer of its own. A big frame is received
into a buffer of its size, straight from the socket. New memory is zeroed and faulted in, which costs as much
as receiving, so the buffer of the last big frame is reused once no view of it is left. While there is such a
buffer, the next bytes are received into it from its beginning: one big frame often follows another, which
then needs no copy and, where it has arrived already, one call.
"""

from __future__ import annotations

from typing import Final

from kcompat.net.frame_buffer import unpack_length
from kcompat.net.sizes import KIB, PREFIX

SCRATCH_SIZE: Final = 64 * KIB
SPARED_FRAMES: Final = 256
"""Frames in a row that did not need the spare big buffer, after which the buffer is dropped."""
BUFFER_STEP: Final = 64 * KIB
"""Bytes of which the size of a big buffer is a multiple, so that the buffer often fits the next frame too."""


class BadFrameError(Exception):
    """Error of a peer that announced a frame of a length that is not allowed."""


class FrameReader:
    """Reader of one connection: `room` gives the buffer to receive into, `received` the frames that are
    whole.

    `scratch` may be shared by readers, as long as `room` and `received` of one follow each other.
    """

    __slots__ = ("_filled", "_frame", "_into", "_max_frame", "_prefix", "_scratch", "_spare", "_unused")

    def __init__(self, scratch: memoryview, max_frame: int) -> None:
        self._scratch = scratch
        self._max_frame = max_frame
        self._into = scratch  # buffer of the last `room`, if no frame had begun
        self._prefix = b""  # first bytes of the next frame, fewer than its prefix has
        self._frame: memoryview | None = None  # buffer of the frame being received
        self._filled = 0  # bytes received of it
        self._spare: bytearray | None = None  # the buffer of the last big frame
        self._unused = 0  # frames since its last use

    def room(self) -> memoryview:
        """Return the buffer for the next bytes, which is never empty.

        Keep no view of it: while a view exists, the buffer is not reused, and the next one may be smaller.
        """
        if self._frame is not None:
            return self._frame[self._filled :]
        self._into = self._scratch
        if self._spare is not None and _is_unseen(self._spare):
            self._into = memoryview(self._spare)
        held = len(self._prefix)
        if held:
            self._into[:held] = self._prefix
        return self._into[held:]

    def received(self, count: int) -> list[memoryview]:
        """Take `count` bytes at the beginning of the last `room`, and return the frames that are whole now.

        Raises BadFrameError; nothing can be received after it.
        """
        frame = self._frame
        if frame is None:
            data, self._into = self._into, self._scratch
            return self._cut(data, len(self._prefix) + count)
        self._filled += count
        if self._filled < len(frame):
            return []
        self._frame = None
        return [frame]

    def _cut(self, data: memoryview, end: int) -> list[memoryview]:
        frames: list[memoryview] = []
        start = small = 0
        while end - start >= PREFIX:
            length: int = unpack_length(data, start)[0]
            if not 0 < length <= self._max_frame:
                raise BadFrameError(f"a frame of {length} bytes; the largest allowed is {self._max_frame}")
            body, following = start + PREFIX, start + PREFIX + length
            is_in_place = not start and len(self._scratch) < length <= len(data) - PREFIX
            if following > end:
                self._begin(length, data[body:following] if is_in_place else None, data[body:end])
                start = end
                break
            if is_in_place:
                frames.append(data[body:following])
                self._unused = 0
            else:
                frames.append(memoryview(bytearray(data[body:following])))
                small += 1
            start = following
        self._prefix = bytes(data[start:end])
        self._count_small(small)
        return frames

    def _begin(self, length: int, place: memoryview | None, begun: memoryview) -> None:
        """Begin a frame of which only `begun` has arrived; with `place`, the frame stays there and is not
        copied.
        """
        self._filled = len(begun)
        if place is not None:
            self._frame = place
            self._unused = 0
            return
        buffer = self._spare
        if length <= len(self._scratch):
            buffer = bytearray(length)
            self._count_small(1)
        elif buffer is None or len(buffer) < length or not _is_unseen(buffer):
            buffer = self._spare = bytearray(-(-(PREFIX + length) // BUFFER_STEP) * BUFFER_STEP)
        else:
            self._unused = 0
        self._frame = memoryview(buffer)[:length]
        self._frame[: self._filled] = begun

    def _count_small(self, frames: int) -> None:
        self._unused += frames
        if self._unused > SPARED_FRAMES:
            self._spare = None
            self._unused = 0


def _is_unseen(buffer: bytearray) -> bool:
    """Return whether no view of the buffer exists: only then its size may change."""
    try:
        buffer.append(0)
    except BufferError:
        return False
    buffer.pop()
    return True
