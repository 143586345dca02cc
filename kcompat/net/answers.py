"""Answers of a frame handler: the contract between connections and the dispatcher.

An answer is one of

- a `list` of pieces: the whole response as it goes over the wire, length prefix included. A piece is a
  buffer, a `FileSlice` or a `LazyPiece`. Buffers must own their bytes: the frame they answer is gone when
  they are sent.
- `None`: nothing is sent (a produce with acks=0).
- `CLOSE`: the connection is closed once the answers of earlier frames are out.
- `Waiting`: any of the above comes later.
"""

from __future__ import annotations

from collections.abc import Hashable
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from kcompat.promise import Promise


class FileSlice(Protocol):
    """Bytes of an open file, as the log hands them out; the file stays open while anybody holds the range."""

    @property
    def position(self) -> int:
        """Position of the range in the file."""

    @property
    def length(self) -> int:
        """Length in bytes, at least 1."""

    def fileno(self) -> int:
        """The descriptor of the open file."""

    def __len__(self) -> int: ...


class LazyPiece(Protocol):
    """Bytes that are made while they are sent; only their number is known before."""

    def __len__(self) -> int: ...

    def next_piece(self) -> bytes:
        """The next of them, at least one, until `len` bytes were given; some 100 KiB at a time."""


class Close(Enum):
    """The type of `CLOSE`."""

    CLOSE = "close"


CLOSE: Final = Close.CLOSE

Piece: TypeAlias = "bytes | bytearray | memoryview | FileSlice | LazyPiece"
Settled: TypeAlias = "Sequence[Piece] | Close | None"
Answer: TypeAlias = "Settled | Waiting"


class Mode(Enum):
    """The handling of frames behind one that still waits for its answer."""

    PIPELINED = "pipelined"
    """Later frames are handed on at once; their answers wait for this one."""
    BLOCKING = "blocking"
    """Later frames wait until this one is answered, as on a Kafka broker."""
    BUSY = "busy"
    """Later frames wait, and no bytes are received: this frame is being worked on, and no other can
    end that. What the peer sends is served afterwards, even if it has left by then."""
    INTERRUPTIBLE = "interruptible"
    """Later frames wait as with BLOCKING, but `interrupt` is called when `FrameHandler.ends_wait` says so of
    the frame behind it.
    """


class Waiting:
    """An answer that comes later. It may be another `Waiting`, whose mode counts from then on."""

    __slots__ = ("holds", "interrupt", "mode", "promise")

    def __init__(
        self,
        promise: Promise[Answer],
        mode: Mode,
        interrupt: Callable[[], object] | None = None,
        *,
        holds: int = 0,
    ) -> None:
        assert (interrupt is not None) == (mode is Mode.INTERRUPTIBLE)
        self.promise = promise
        self.mode = mode
        self.holds = holds
        """Bytes of the frame that were copied and are kept until the promise has its value; they count as
        receive memory."""
        self.interrupt = interrupt
        """Makes the promise complete with what there is, at once or soon. Called at most once."""


class Connection(Hashable, Protocol):
    """A connection as a handler sees it."""

    listener_name: str
    """Kafka's name of the listener the peer came to."""
    peer_host: str
    """The peer's numeric address."""
    peer_port: int
    local_address: tuple[str, int]
    """Host and port under which the peer reached us."""
    context: object
    """Free for the handler's own use; None at first."""

    def place_next(self, data: memoryview, position: int) -> None:
        """Receive the next frame so that what it holds where the last one held `data` is quickly written to
        `position` of a file (see `placing`).
        """

    def mute(self, ms: float) -> None:
        """Hand on no more frames for `ms` milliseconds; answers still go out (KIP-219)."""

    def when_closed(self, callback: Callable[[], object]) -> None:
        """Call `callback` once when the connection has ended, whoever ended it; now if it has."""

    def close(self, reason: str) -> None:
        """Close at once; answers that wait are dropped. `reason` is what the counters call it."""


class FrameHandler(Protocol):
    """The receiver of a connection's frames: the dispatcher, in a broker."""

    def on_frame(self, connection: Connection, frame: memoryview) -> Answer:
        """Take one whole frame, without its length prefix, and say what to answer.

        `frame` is writable and valid only during this call. An exception is logged and closes the connection.
        """

    def ends_wait(self, frame: memoryview) -> bool:
        """Whether this frame, the next behind one whose answer is INTERRUPTIBLE, ends that wait.

        `frame` is as for `on_frame`, but may be empty, of a frame whose length will be refused.
        """
