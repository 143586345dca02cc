"""A connection to the broker that requests are played to."""

from __future__ import annotations

import socket
import struct
import time
from typing import Final

from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kcompat.protocol.messages.headers import RequestHeader

_PREFIX: Final = struct.Struct(">i")
_ID_BYTES: Final = 4
"""Bytes of a correlation id, with which each answer begins."""
_REQUEST_ID_AT: Final = 8
"""Position of the correlation id in a request with its length prefix."""
_PIECE: Final = 1 << 18
"""Maximum number of bytes that are read at once, so that a wrong length from another kind of server allocates
no more.
"""


class TargetConnection:
    """One connection, whose answers may be received in any order. Its methods raise OSError: TimeoutError
    after `patience_s` seconds, ConnectionError if the broker closes it or sends something other than an
    answer.
    """

    def __init__(self, address: tuple[str, int], patience_s: float) -> None:
        self._socket = socket.create_connection(address, patience_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._patience_s = patience_s
        self._awaited: set[int] = set()
        self._answers: dict[int, bytes] = {}

    def send(self, frame: bytes) -> None:
        """Send a request with its length prefix."""
        self._awaited.add(_id_at(frame, _REQUEST_ID_AT))
        self._socket.settimeout(self._patience_s)
        self._socket.sendall(frame)

    def receive(self, correlation_id: int) -> bytes:
        """Wait for the answer to a request, and return it with its length prefix."""
        ends = time.monotonic() + self._patience_s
        while correlation_id not in self._answers:
            prefix = self._read(_PREFIX.size, ends)
            (size,) = _PREFIX.unpack(prefix)
            if size < _ID_BYTES:
                raise ConnectionError(f"its answer has {size} bytes, which no answer of Kafka has")
            answer = self._read(size, ends)
            answered = _id_at(answer, 0)
            if answered not in self._awaited:
                raise ConnectionError(f"it answers a request {answered} that it was not sent")
            self._awaited.remove(answered)
            self._answers[answered] = prefix + answer
        return self._answers.pop(correlation_id)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _read(self, size: int, ends: float) -> bytes:
        """Read bytes; raise TimeoutError if they have not arrived at `ends`, in the time of the monotonic
        clock.
        """
        data = bytearray()
        while len(data) < size:
            left_s = ends - time.monotonic()
            if left_s <= 0:
                raise TimeoutError("timed out")
            self._socket.settimeout(left_s)
            piece = self._socket.recv(min(size - len(data), _PIECE))
            if not piece:
                raise ConnectionError("the broker closed the connection")
            data += piece
        return bytes(data)


def latest_versions(address: tuple[str, int], patience_s: float) -> dict[int, int]:
    """Ask a broker for the highest version that it serves of each API and return them by API.

    The first version of the request is one that every broker since Kafka 0.10 understands.

    Raises:
        OSError: the broker does not answer, or lists no API.
        ProtocolViolation, struct.error: the answer is not one of Kafka.
    """
    connection = TargetConnection(address, patience_s)
    try:
        body = b"".join(
            (
                *RequestHeader(ApiKey.API_VERSIONS, 0, 1, "kcompat replay").encode(1),
                *ApiVersionsRequest().encode(0),
            )
        )
        connection.send(_PREFIX.pack(len(body)) + body)
        answer = ApiVersionsResponse.decode(memoryview(connection.receive(1)), 0, 8)
    finally:
        connection.close()
    if not answer.api_keys:
        raise ConnectionError("it lists no API")
    return {each.api_key: each.max_version for each in answer.api_keys}


def _id_at(data: bytes, position: int) -> int:
    return int.from_bytes(data[position : position + _ID_BYTES], "big", signed=True)
