"""Answers of a frame handler: the contract between connections and the dispatcher.

An answer is one of

- a `list` of pieces: the whole response as sent, length prefix included. A piece is a buffer, a `FileSlice`
  or a `LazyPiece`. Buffers must own their bytes: the frame they answer is gone when they are sent.
- `None`: nothing is sent (a produce with acks=0).
- `CLOSE`: the connection is closed once the answers of earlier frames have been sent.
- `Waiting`: any of the above comes later.
"""

from __future__ import annotations

from collections.abc import Hashable
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from kcompat.notices.cause import Cause
    from kcompat.promise import Promise
    from kcompat.security.authorizer import AllowedTopics
    from kcompat.security.principals import Principal


class FileSlice(Protocol):
    """A range of bytes of an open file, such as a part of a log segment. The file stays open while the range
    is referenced.
    """

    @property
    def position(self) -> int:
        """Position of the range in the file."""

    @property
    def length(self) -> int:
        """Length in bytes, at least 1."""

    def fileno(self) -> int:
        """Return the descriptor of the open file."""

    def __len__(self) -> int: ...


class LazyPiece(Protocol):
    """Bytes that are made while the answer is sent; only their number, `len(piece)`, is known before."""

    def __len__(self) -> int: ...

    def next_piece(self) -> bytes:
        """Return the next bytes, at least one and some 100 KiB at a time, until `len` bytes were returned."""


class Close(Enum):
    """The type of `CLOSE`."""

    CLOSE = "close"


CLOSE: Final = Close.CLOSE

Piece: TypeAlias = "bytes | bytearray | memoryview | FileSlice | LazyPiece"
Settled: TypeAlias = "Sequence[Piece] | Close | None"
Answer: TypeAlias = "Settled | Waiting"


class Mode(Enum):
    """Modes in which a later answer affects the frames behind its own."""

    PIPELINED = "pipelined"
    """Later frames are handed on at once; their answers wait for this one."""
    BLOCKING = "blocking"
    """Later frames wait until this one is answered, as on a Kafka broker."""
    BUSY = "busy"
    """Later frames wait, and no bytes are received: only the work on this frame can end the wait. Frames that
    the peer sends meanwhile are served afterwards, even if the peer has closed the connection by then."""
    INTERRUPTIBLE = "interruptible"
    """Later frames wait as with BLOCKING, but `interrupt` is called if `FrameHandler.ends_wait` returns True
    for the next frame."""


class Waiting:
    """An answer that comes later. Its promise may give another `Waiting`, whose mode then applies."""

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
        """Bytes of the frame that were copied and are kept until the promise is done; they count as receive
        memory."""
        self.interrupt = interrupt
        """Function that makes the promise complete with the data available, at once or soon. Called at most
        once."""


class Connection(Hashable, Protocol):
    """The part of a connection that a handler sees."""

    listener_name: str
    """Kafka's name of the listener that the peer connected to."""
    peer_host: str
    """The peer's numeric address."""
    peer_port: int
    local_address: tuple[str, int]
    """Host and port of this side of the connection."""
    principal: Principal
    """The principal that the peer is authenticated as."""
    context: object
    """Attribute for the handler's own use; None at first."""
    allowed_topics: AllowedTopics | None
    """The topics that the peer is known to be allowed to use; None at first."""

    def serve_with(self, handler: FrameHandler) -> None:
        """Pass frames after the current one to `handler`."""

    def place_next(self, data: memoryview, position: int) -> None:
        """Choose where the next frame is received, assuming that it carries data as the last one carried
        `data`: aligned so that writing it to `position` of a file is fast (see `placing`).
        """

    def mute(self, ms: float) -> None:
        """Hand on no more frames for `ms` milliseconds; answers still go out (KIP-219)."""

    def when_closed(self, callback: Callable[[], object]) -> None:
        """Call `callback` once when the connection has ended, whichever side ended it; at once if it has
        already.
        """

    def close(self, reason: str) -> None:
        """Close at once; waiting answers are dropped. The counters of closed connections are by `reason`."""

    def close_behind(self, reason: str) -> None:
        """Hand on no more frames, and close once the answers so far have been sent, waiting ones included."""

    def report(self, cause: Cause, about: str, **details: object) -> None:
        """Log that a client or group, `about`, fails, with the details of the line."""

    def complain(self, cause: Cause, **details: object) -> None:
        """Log why the connection is closed, or the login of its peer refused."""


class FrameHandler(Protocol):
    """The receiver of a connection's frames: in a broker the dispatcher, or what authenticates the peer
    first.
    """

    max_frame: int | None
    """Largest frame in bytes that is received for this handler; None for `Limits.max_frame`."""

    def on_frame(self, connection: Connection, frame: memoryview) -> Answer:
        """Take one whole frame, without its length prefix, and return the answer.

        `frame` is writable and valid only during this call. An exception is logged and closes the connection.
        """

    def ends_wait(self, frame: memoryview) -> bool:
        """Return whether this frame, the next behind one with an INTERRUPTIBLE answer, ends the wait for it.

        `frame` is as for `on_frame`, but empty if its length is not allowed.
        """
