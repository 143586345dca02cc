"""One request and its answer as they were recorded: bytes, sizes and times, not decoded."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from kcompat.security.principals import Principal

Kept: TypeAlias = "bytes | int"
"""A part of an answer: its bytes, or the number of bytes that were not kept."""


KIND_BYTES: Final = 4
"""Bytes of a request that hold its API key and version."""


class Fate(IntEnum):
    """The states and ends of a request."""

    WAITING = 0
    """The request waits for its answer."""
    ANSWERED = 1
    SILENT = 2
    """The request has no answer: a produce with acks=0."""
    CLOSED = 3
    """The broker closes the connection instead of answering."""


class RecordedExchange(Struct, gc=False):
    """A request and its answer. The recorder completes it when a waiting answer arrives."""

    at_ns: int
    """Wall-clock time of the request in nanoseconds since the epoch."""
    host: str
    port: int
    listener: str
    principal: Principal
    """The principal of the connection after the request was served."""
    request: bytes
    """The frame without its length prefix, maybe shortened."""
    request_size: int
    """Bytes of the frame as it was received."""
    fate: Fate = Fate.WAITING
    answer: tuple[Kept, ...] = ()
    """The answer with its length prefix."""
    duration_ns: int = 0
    mark: int = 0
    """A number for the sink's own use."""

    def release(self) -> None:
        """Drop the bytes of the answer, and of the request except those of its API key and version."""
        self.request = self.request[:KIND_BYTES]
        self.answer = ()


class RecordedEvent(Struct, frozen=True, gc=False):
    """An event of a connection: it was opened or closed, or the broker logged a fault of its peer."""

    at_ns: int
    what: str
    """`opened`, `closed` or `complaint`."""
    host: str
    port: int = 0
    """The port of the peer; 0 for a complaint."""
    listener: str = ""
    principal: str = ""
    text: str = ""
    """The reason of the end, or the text of the complaint."""
