"""Frames of one connection: parsing of requests from received bytes, and replies in the order of the
requests.
"""

from __future__ import annotations

from collections import deque
from struct import Struct as Layout
from typing import TYPE_CHECKING, Final

from kcompat.zookeeper_server.jute import MalformedError
from kcompat.zookeeper_server.records import MAX_BUFFER

if TYPE_CHECKING:
    from collections.abc import Callable

LENGTH: Final = Layout(">i")
"""Layout of the length field before each frame."""


class RequestFrames:
    """Received bytes that are not parsed yet.

    Memory use grows with the bytes received, not with the announced length of a frame.
    """

    __slots__ = ("_data", "_taken")

    def __init__(self) -> None:
        self._data = bytearray()
        self._taken = 0

    def __len__(self) -> int:
        return len(self._data) - self._taken

    @property
    def is_full(self) -> bool:
        """Whether the buffer is longer than the largest frame, so that reading from the socket can pause."""
        return len(self) > MAX_BUFFER + LENGTH.size

    def add(self, data: bytes) -> None:
        """Append received bytes."""
        self._data += data

    def word(self) -> bytes:
        """Return the next four bytes without removing them, or fewer if there are not four."""
        return bytes(self._data[self._taken : self._taken + LENGTH.size])

    def next(self) -> bytes | None:
        """Remove and return the next frame; None if it is incomplete. Raises MalformedError for an illegal
        length.
        """
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
        """Free the bytes of removed frames. Called once after many frames."""
        del self._data[: self._taken]
        self._taken = 0

    def clear(self) -> None:
        """Drop all bytes and free their memory."""
        self._data.clear()
        self._taken = 0


class Slot:
    """Place of one request in the sequence of replies."""

    __slots__ = ("_queue", "bytes", "finish", "make", "since_ms")

    def __init__(self, queue: ReplyQueue, since_ms: int, size: int) -> None:
        self._queue = queue
        self.since_ms = since_ms
        self.bytes = size
        """Size of the request in bytes."""
        self.make: Callable[[], bytes] | None = None
        """Function that makes the reply once all earlier replies are sent; None until the reply is known."""
        self.finish: Callable[[], object] | None = None
        """Function to call when the reply has been sent."""

    def complete(self, answer: bytes, finish: Callable[[], object] | None = None) -> None:
        """Set the reply of this request."""
        self.make = lambda: answer
        self.finish = finish
        self._queue.flush()


class ReplyQueue:
    """Requests whose reply is not sent yet, in the order of arrival."""

    def __init__(self, now_ms: Callable[[], int], send: Callable[[bytes, int], object]) -> None:
        """Make an empty queue; `send(reply, latency_ms)` is called for each reply, in order."""
        self._now_ms = now_ms
        self._send = send
        self._slots: deque[Slot] = deque()
        self.is_held = False
        """Whether sending is paused."""
        self.held_bytes = 0
        """Bytes of the requests that wait for their replies."""
        self.next_bytes = 0
        """Size in bytes of the request that is handled next."""

    def __len__(self) -> int:
        return len(self._slots)

    def promise(self) -> Slot:
        """Add a place for a reply that is provided later."""
        slot = Slot(self, self._now_ms(), self.next_bytes)
        self._slots.append(slot)
        self.held_bytes += slot.bytes
        return slot

    def after(self, make: Callable[[], bytes], finish: Callable[[], object] | None = None) -> None:
        """Reply with the result of `make` once all earlier replies are sent."""
        slot = self.promise()
        slot.make, slot.finish = make, finish
        self.flush()

    def hold(self, held: bool) -> None:
        """Pause the sending of replies, or resume it."""
        self.is_held = held
        self.flush()

    def clear(self) -> None:
        """Drop all waiting requests."""
        self._slots.clear()

    def flush(self) -> None:
        """Send the replies that are known and have no unsent reply before them."""
        slots = self._slots
        while slots and not self.is_held and (make := slots[0].make) is not None:
            slot = slots.popleft()
            self.held_bytes -= slot.bytes
            self._send(make(), self._now_ms() - slot.since_ms)
            if slot.finish is not None:
                slot.finish()
