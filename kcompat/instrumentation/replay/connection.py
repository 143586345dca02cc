"""A connection to the broker that requests are played to."""

from __future__ import annotations

import socket
import struct
from typing import Final

from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kcompat.protocol.messages.headers import RequestHeader

_PREFIX: Final = struct.Struct(">i")


class TargetConnection:
    """One connection; its answers may be asked for in any order. Its methods raise OSError: TimeoutError
    after `patience_s` seconds, ConnectionError if the broker closes it.
    """

    def __init__(self, address: tuple[str, int], patience_s: float) -> None:
        self._socket = socket.create_connection(address, patience_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answers: dict[int, bytes] = {}

    def send(self, frame: bytes) -> None:
        """Send a request with its length prefix."""
        self._socket.sendall(frame)

    def receive(self, correlation_id: int) -> bytes:
        """Wait for the answer to a request, and return it with its length prefix."""
        while correlation_id not in self._answers:
            prefix = self._read(_PREFIX.size)
            answer = self._read(_PREFIX.unpack(prefix)[0])
            self._answers[int.from_bytes(answer[:4], "big", signed=True)] = prefix + answer
        return self._answers.pop(correlation_id)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            if not piece:
                raise ConnectionError("the broker closed the connection")
            data += piece
        return bytes(data)


def latest_versions(address: tuple[str, int], patience_s: float) -> dict[int, int]:
    """Ask a broker for the highest version that it serves of each API; raise OSError if it does not answer.

    The first version of the request is one that every broker since Kafka 0.10 understands.
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
    return {each.api_key: each.max_version for each in answer.api_keys}
