"""Received bytes of one connection that wait to be handed on, and a pool for the big buffers they need."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

from kcompat.net.sizes import GRAIN, KIB, MIB, PREFIX
from kcompat.notices.causes import FOREIGN_FRAME, HTTP, TLS_ON_PLAIN_PORT

if TYPE_CHECKING:
    from kcompat.notices.cause import Cause

STEP: Final = 64 * KIB
"""Maximum number of bytes that are allocated at a time for a frame of which little has arrived."""
READ_AHEAD: Final = 64 * KIB
"""Maximum number of bytes that are received behind a whole frame that must wait."""

_TLS_HANDSHAKE: Final = 0x1603
"""First two bytes of a TLS client: a handshake record of version 3.x."""

_HTTP_METHODS: Final = frozenset(
    b"GET HEADPOSTPUT DELEOPTIPATCCONNTRACPRI "[at : at + 4] for at in range(0, 40, 4)
)
"""First four bytes of the requests of HTTP; `PRI` begins HTTP/2."""

unpack_length = Struct(">i").unpack_from


def whole_size(data: bytearray | memoryview, start: int, end: int, max_frame: int) -> int:
    """Return the announced size of the frame at `start`, prefix included; `PREFIX` if the length is not there
    yet or not allowed.
    """
    if end - start < PREFIX:
        return PREFIX
    length: int = unpack_length(data, start)[0]
    return PREFIX + length if 0 < length <= max_frame else PREFIX


def cause_of_length(length: int) -> Cause:
    """Return the reason why a peer announced a frame length that is not allowed, such as TLS or HTTP on a
    plain port.
    """
    if length >> 16 == _TLS_HANDSHAKE:
        return TLS_ON_PLAIN_PORT
    if length > 0 and length.to_bytes(4, "big") in _HTTP_METHODS:
        return HTTP
    return FOREIGN_FRAME


class BufferPool:
    """Pool of big buffers for reuse: a new one is zeroed and faulted in, which costs more than receiving.

    A frame gets a pooled buffer of its announced size at once, as the memory is there already; a new buffer
    only grows with the bytes that arrived.
    """

    __slots__ = ("_free", "_limit", "_unused", "free_bytes")

    def __init__(self, limit: int = 16 * MIB) -> None:
        self._limit = limit
        self._free: list[bytearray] = []
        self._unused = 0
        self.free_bytes = 0

    def take(self, size: int) -> bytearray | None:
        """Take the smallest free buffer of at least `size` bytes out of the pool; return None if there is
        none.
        """
        best = None
        for candidate in self._free:
            if len(candidate) >= size and (best is None or len(candidate) < len(best)):
                best = candidate
        if best is not None:
            self._free = [buffer for buffer in self._free if buffer is not best]
            self.free_bytes -= len(best)
            self._unused = min(self._unused, len(self._free))
        return best

    def give(self, buffer: bytearray) -> None:
        """Put a buffer back, if it is larger than `STEP` and the pool has room for it."""
        if STEP < len(buffer) <= self._limit - self.free_bytes:
            self._free.append(buffer)
            self.free_bytes += len(buffer)

    def trim(self) -> None:
        """Drop one buffer if some were not taken since the last call, so that an idle broker returns its
        memory.
        """
        if self._unused:
            self.free_bytes -= len(self._free.pop(0))
        self._unused = len(self._free)


class FrameBuffer:
    """Bytes of one connection that wait, `data[start:end]`: a part of a frame, or whole frames.

    `lead` bytes, fewer than `GRAIN`, are left free before them.
    """

    __slots__ = ("_lead", "data", "end", "max_frame", "start", "view")

    def __init__(self, data: bytearray, received: memoryview, max_frame: int, lead: int = 0) -> None:
        self.max_frame = max_frame
        """Bytes of the largest frame that is allowed, without its length prefix."""
        self._lead = lead
        self._fill(data, received)

    def _fill(self, data: bytearray, held: memoryview) -> None:
        self.data = data
        self.view = memoryview(data)
        self.start = self._lead
        self.end = self._lead + len(held)
        self.view[self.start : self.end] = held

    @property
    def size(self) -> int:
        """Number of waiting bytes."""
        return self.end - self.start

    @property
    def needed(self) -> int:
        """The `whole_size` of the first frame."""
        return whole_size(self.data, self.start, self.end, self.max_frame)

    @property
    def has_frame(self) -> bool:
        """Whether the first frame is whole, or its length is not allowed."""
        held = self.end - self.start
        return held >= PREFIX and held >= self.needed

    @property
    def may_read_ahead(self) -> bool:
        """Whether more bytes may be received while no frame is handed on."""
        return self.size < READ_AHEAD or not self.has_frame

    def first_frame(self) -> memoryview:
        """Return the first frame, which must be whole; empty if its length is not allowed."""
        return self.view[self.start + PREFIX : self.start + self.needed]

    def room(self, read_ahead: int = READ_AHEAD) -> memoryview:
        """Return the buffer to receive into: the rest of the first frame, or `read_ahead` bytes behind it.
        The result may be empty.
        """
        needed = self.needed
        target = self.start + needed if self.size < needed else self.end + read_ahead
        if target > len(self.data) and self.start > self._lead:
            self._fill(self.data, self.view[self.start : self.end])
            return self.room(read_ahead)
        return self.view[self.end : target]

    def wanted(self, read_ahead: int = READ_AHEAD) -> int:
        """Return the capacity that the buffer should grow to when `room` is empty."""
        return GRAIN + (self.size + read_ahead if self.has_frame else self.needed)

    def move_to(self, data: bytearray) -> bytearray:
        """Move the waiting bytes to `data`, which is bigger; return the old buffer."""
        old = self.data
        self._fill(data, self.view[self.start : self.end])
        return old
