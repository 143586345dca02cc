"""The interceptor that records: it copies the bytes of requests and answers, and decodes nothing on the way.

Frames up to a size are kept whole. Of a larger Produce, only the headers of its record batches are kept; of a
large answer to Fetch, everything but the records beyond a size; of any other large frame, its first bytes.
"""

from __future__ import annotations

import os
from struct import error as StructError  # noqa: N812 - the module's own name says nothing
from time import perf_counter_ns, time_ns
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec import Struct

from kcompat.instrumentation.recording.exchange import Fate, RecordedExchange
from kcompat.instrumentation.recording.secrets import (
    PLAIN_KINDS,
    answer_without_secrets,
    is_login_token,
    without_secrets,
)
from kcompat.net.answers import CLOSE, Waiting
from kcompat.net.out_queue import is_lazy, joined
from kcompat.protocol.api_keys import API_FACTS, ApiKey, request_class
from kcompat.protocol.compiling import read_request_header
from kcompat.protocol.message import decoder
from kcompat.protocol.schema import ProtocolViolation
from kcompat.records.layout import HEADER_SIZE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.instrumentation.recording.exchange import Kept
    from kcompat.net.answers import Answer, Connection, FileSlice, LazyPiece, Piece
    from kcompat.net.interception import Serve

HEAD: Final = 128
"""Bytes that are kept of a frame that is too large to keep."""
_ANSWERED: Final = Fate.ANSWERED
_PRODUCE: Final = int(ApiKey.PRODUCE).to_bytes(2, "big")
_WITH_RECORDS: Final = frozenset(int(key).to_bytes(2, "big") for key in (ApiKey.FETCH, ApiKey.SHARE_FETCH))


class Keeping(Struct, frozen=True):
    """The sizes up to which frames are kept."""

    frame: int
    """Largest frame in bytes that is kept whole."""
    records: int = 0
    """Maximum number of bytes of records in the answer to a Fetch that are read from files for the record."""


class CaptureSink(Protocol):
    """A receiver of recorded requests, on the event loop of the broker."""

    def add(self, exchange: RecordedExchange) -> None:
        """Store a request, with its answer if there is one already."""

    def settle(self, exchange: RecordedExchange) -> None:
        """Handle the arrival of the answer to a stored request."""


class Capture:
    """An interceptor that gives each request and its answer to a sink."""

    def __init__(self, sink: CaptureSink, keeping: Keeping) -> None:
        self._add = sink.add
        self._settle = sink.settle
        self._keeping = keeping
        self._whole = keeping.frame
        self._epoch_ns = time_ns() - perf_counter_ns()

    def intercept(self, serve: Serve, connection: Connection, frame: memoryview) -> Answer:
        """Serve the frame and record it. The frame is copied first, because the broker writes into it."""
        began = perf_counter_ns()
        size = len(frame)
        request = bytes(frame) if size <= self._whole else _shortened(frame)
        is_plain = request[:4] in PLAIN_KINDS and connection.context is None
        if not is_plain:
            request = b"" if is_login_token(connection) else without_secrets(request)
        try:
            answer = serve(connection, frame)
        except BaseException:
            self._add(self._begun(connection, request, size, began, Fate.CLOSED))
            raise
        only = answer[0] if type(answer) is list and len(answer) == 1 else None
        if is_plain and type(only) is bytes and len(only) <= self._whole:  # most answers
            exchange = RecordedExchange(
                began + self._epoch_ns,
                connection.peer_host,
                connection.peer_port,
                connection.listener_name,
                connection.principal,
                request,
                size,
                _ANSWERED,
                (only,),
                perf_counter_ns() - began,
            )
        else:
            exchange = self._begun(connection, request, size, began)
            self._follow(exchange, answer, began)
        self._add(exchange)
        return answer

    def _begun(
        self, connection: Connection, request: bytes, size: int, began: int, fate: Fate = Fate.WAITING
    ) -> RecordedExchange:
        return RecordedExchange(
            began + self._epoch_ns,
            connection.peer_host,
            connection.peer_port,
            connection.listener_name,
            connection.principal,
            request,
            size,
            fate,
        )

    def _follow(self, exchange: RecordedExchange, answer: Answer, began: int) -> None:
        """Record an answer of any kind: at once, or when it arrives."""
        while isinstance(answer, Waiting):
            if not answer.promise.done:
                answer.promise.then(lambda later: self._arrived(exchange, later, began))
                return
            answer = answer.promise.value
        if answer is None:
            exchange.fate = Fate.SILENT
        elif answer is CLOSE:
            exchange.fate = Fate.CLOSED
        else:
            self._keep(exchange, answer)
        exchange.duration_ns = perf_counter_ns() - began

    def _arrived(self, exchange: RecordedExchange, answer: Answer, began: int) -> None:
        self._follow(exchange, answer, began)
        if exchange.fate is not Fate.WAITING:
            self._settle(exchange)

    def _keep(self, exchange: RecordedExchange, answer: Sequence[Piece]) -> None:
        exchange.fate = Fate.ANSWERED
        request = exchange.request
        if request[:2] in _WITH_RECORDS:
            exchange.answer = self._without_large_records(answer)
            return
        kept = self._cut(answer)
        if request[:4] not in PLAIN_KINDS:
            kept = (
                answer_without_secrets(request, b"".join(each for each in kept if not isinstance(each, int))),
            )
        exchange.answer = kept

    def _without_large_records(self, answer: Sequence[Piece]) -> tuple[Kept, ...]:
        """Return the answer to a Fetch without the records that are not kept; records are the pieces after
        the first.
        """
        if len(answer[0]) > self._whole:
            return self._cut(answer)
        kept: list[Kept] = []
        allowed = self._keeping.records
        for piece in answer:
            if isinstance(piece, (bytes, bytearray, memoryview)):
                kept.append(bytes(piece) if len(piece) <= self._whole else len(piece))
            else:
                kept.append(_read(piece) if len(piece) <= allowed else len(piece))
                allowed -= len(piece)
        return tuple(kept)

    def _cut(self, answer: Sequence[Piece]) -> tuple[Kept, ...]:
        """Return an answer whole if it is small enough to keep, or else its first bytes."""
        size = sum(map(len, answer))
        if size <= self._whole and (whole := joined(answer)) is not None:
            return (whole,)
        first = answer[0]
        head = bytes(first[:HEAD]) if isinstance(first, (bytes, bytearray, memoryview)) else b""
        return (head, size - len(head))


def _read(piece: FileSlice | LazyPiece) -> Kept:
    """Return the bytes of a file range, or their number if they cannot be read now."""
    if is_lazy(piece):
        return len(piece)  # making its bytes would leave nothing to send
    try:
        data = os.pread(piece.fileno(), piece.length, piece.position)
    except OSError:
        return len(piece)  # sending the answer meets the same fault, and tells it
    return data if len(data) == len(piece) else len(piece)


def _shortened(frame: memoryview) -> bytes:
    """Return a Produce with only the headers of its batches, and the first bytes of any other frame."""
    if frame[:2] == _PRODUCE:
        version = int.from_bytes(frame[2:4], "big")
        try:
            _, _, body = read_request_header(frame, API_FACTS[ApiKey.PRODUCE].request_header_version(version))
            request: Any
            request, _ = decoder(request_class(ApiKey.PRODUCE), version)(frame, body)
        except (ProtocolViolation, StructError, ValueError):
            return bytes(frame[:HEAD])
        for topic in request.topic_data:
            for partition in topic.partition_data:
                if partition.records is not None:
                    partition.records = bytes(partition.records[:HEADER_SIZE])
        return b"".join((frame[:body], *request.encode(version)))
    return bytes(frame[:HEAD])
