"""A request and its answer as messages: what an interceptor of frames reads and writes."""

from __future__ import annotations

import logging
import os
import struct
from typing import TYPE_CHECKING, Any, Final

from kcompat.instrumentation.request_head import read_head, response_body_at
from kcompat.net.answers import CLOSE, Waiting
from kcompat.net.out_queue import is_lazy
from kcompat.promise import Promise
from kcompat.protocol.api_keys import API_FACTS, ApiKey, request_class, response_class
from kcompat.protocol.compiling import compile_framer
from kcompat.protocol.message import decoder
from kcompat.protocol.schema import ProtocolViolation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.instrumentation.request_head import RequestHead
    from kcompat.net.answers import Answer, Piece, Settled

    Readable = bytes | bytearray | memoryview

logger = logging.getLogger(__name__)

_VERSION: Final = struct.Struct(">h").pack_into


class ReceivedRequest:
    """The frame of a request whose API and version exist; its body is decoded when needed."""

    __slots__ = ("_head", "_message", "client_id", "correlation_id", "frame", "key", "version")

    def __init__(self, key: ApiKey, head: RequestHead, frame: memoryview) -> None:
        """Read a frame whose header is `head`; `key` is the API key in the header."""
        self.key = key
        self.version = head.version
        self.client_id = head.client_id
        self.correlation_id = head.correlation_id
        self.frame = frame
        self._head = head
        self._message: Any = None

    @classmethod
    def read(cls, frame: memoryview) -> ReceivedRequest | None:
        """Return the request in a frame, valid as long as the frame is; None if the frame cannot be read."""
        head = read_head(frame)
        return None if head.key is None or not head.body_at else cls(head.key, head, frame)

    @property
    def message(self) -> Any:
        """The request as a message, decoded at the first use, which raises ProtocolViolation for damage."""
        if self._message is None:
            self._message = decoder(request_class(self.key), self.version)(self.frame, self._head.body_at)[0]
        return self._message

    @property
    def is_sound(self) -> bool:
        """Whether the body can be decoded."""
        try:
            return self.message is not None
        except ProtocolViolation:
            return False

    def with_body(self, message: Any) -> ReceivedRequest:
        """Return a request with the header of this one and another body."""
        head = bytes(self.frame[: self._head.body_at])
        frame = memoryview(bytearray(b"".join([head, *message.encode(self.version)])))
        changed = ReceivedRequest(self.key, self._head, frame)
        changed._message = message
        return changed

    def with_version(self, version: int) -> memoryview:
        """Return the frame with another version in its header."""
        frame = bytearray(self.frame)
        _VERSION(frame, 2, version)
        return memoryview(frame)

    def answer_of(self, response: Any) -> list[Any]:
        """Return the answer to this request that carries a response."""
        frame = compile_framer(response_class(self.key), self.version)
        return frame(response, self.correlation_id, API_FACTS[self.key].response_header_version(self.version))

    def response_of(self, answer: Sequence[Piece]) -> Any:
        """Return the response that an answer to this request carries, with all bytes that it refers to."""
        data = memoryview(b"".join(map(_bytes_of, answer)))
        return decoder(response_class(self.key), self.version)(
            data, response_body_at(self.key, self.version)
        )[0]


def when_settled(answer: Answer, change: Callable[[Settled], Answer]) -> Answer:
    """Return the result of `change(answer)`, as a later answer if the given answer comes later.

    If `change` raises for an answer that comes later, the error is logged and the connection closed.
    """
    if not isinstance(answer, Waiting):
        return change(answer)
    changed: Promise[Answer] = Promise()

    def failed(error: Exception) -> None:
        logger.error("An answer could not be changed", exc_info=error)
        changed.complete(CLOSE)

    answer.promise.then(lambda later: changed.complete(when_settled(later, change)), failed)
    return Waiting(changed, answer.mode, answer.interrupt, holds=answer.holds)


def _bytes_of(piece: Piece) -> Readable:
    """Return the bytes of a piece of an answer: a buffer, a range of a file, or bytes that are made while
    sending.
    """
    if isinstance(piece, (bytes, bytearray, memoryview)):
        return piece
    if is_lazy(piece):
        made = bytearray()
        while len(made) < len(piece):
            made += piece.next_piece()
        return made
    return _read(piece.fileno(), piece.position, piece.length)


def _read(descriptor: int, position: int, length: int) -> bytes:
    data = b""
    while len(data) < length:
        more = os.pread(descriptor, length - len(data), position + len(data))
        if not more:
            raise EOFError("a log segment is shorter than the range of it that is sent")
        data += more
    return data
