"""A connection to the broker that requests are played to."""

from __future__ import annotations

import socket
import struct
import time
from typing import TYPE_CHECKING, Final

from kcompat.errors import UsageError
from kcompat.peer.login import PeerLogin
from kcompat.protocol.api_keys import API_FACTS, ApiKey, response_class
from kcompat.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kcompat.protocol.messages.headers import RequestHeader

if TYPE_CHECKING:
    from kcompat.peer.call import Call
    from kcompat.peer.client import PeerSecurity
    from kcompat.protocol.message import Message

_PREFIX: Final = struct.Struct(">i")
_ID_BYTES: Final = 4
"""Bytes of a correlation id, with which each answer begins."""
_REQUEST_ID_AT: Final = 8
"""Position of the correlation id in a request with its length prefix."""
_PIECE: Final = 1 << 18
"""Maximum number of bytes that are read at once, so that a wrong length from another kind of server allocates
no more.
"""
_FIRST_VERSIONS: Final = {ApiKey.API_VERSIONS: 0, ApiKey.SASL_HANDSHAKE: 1, ApiKey.SASL_AUTHENTICATE: 0}
"""Versions of this program's own requests, which every broker since Kafka 1.0 understands. Their answers have
the oldest header.
"""
_OWN_ID: Final = 0
"""Correlation id of this program's own requests; those of the record have higher ones."""


class TargetConnection:
    """One connection, whose answers may be received in any order. Its methods raise OSError: TimeoutError
    after `patience_s` seconds, ConnectionError if the broker closes it or sends something other than an
    answer.
    """

    def __init__(
        self, address: tuple[str, int], patience_s: float, security: PeerSecurity | None = None
    ) -> None:
        """Connect; with `security` by TLS or with a login, or both. Raises UsageError if the login is
        refused, ssl.SSLError, OSError.
        """
        self._patience_s = patience_s
        self._awaited: set[int] = set()
        self._answers: dict[int, bytes] = {}
        self._socket = socket.create_connection(address, patience_s)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if security is not None and security.tls is not None:
                self._socket = security.tls.wrap_socket(self._socket, server_hostname=address[0])
            if security is not None and security.mechanism is not None:
                PeerLogin(_LoginOwner(self, address), security.mechanism).begin()
        except BaseException:
            self._socket.close()
            raise

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

    def ask(self, request: Message) -> Message:
        """Send one of this program's own requests, and return the answer. Raises as `decode` does as well."""
        key = ApiKey(request.api_key)
        version = _FIRST_VERSIONS[key]
        header = RequestHeader(key, version, _OWN_ID, "kcompat replay")
        pieces = (
            *header.encode(API_FACTS[key].request_header_version(version)),
            *request.encode(version),
        )
        body = b"".join(pieces)
        self.send(_PREFIX.pack(len(body)) + body)
        answer = memoryview(self.receive(_OWN_ID))
        return response_class(key).decode(answer, version, _PREFIX.size + _ID_BYTES)

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


class _LoginOwner:
    """The owner of a login that is made while its connection waits."""

    def __init__(self, connection: TargetConnection, address: tuple[str, int]) -> None:
        self._connection = connection
        self._address = address

    def send(self, call: Call) -> None:
        call.settle(self._connection.ask(call.make(_FIRST_VERSIONS[call.key])))

    def logged_in(self, session_lifetime_ms: int) -> None:
        """Do nothing: the connection can be used now."""

    def refused(self, reason: str) -> None:
        host, port = self._address
        raise UsageError(f"the login at {host}:{port} failed: {reason}")


def latest_versions(
    address: tuple[str, int], patience_s: float, security: PeerSecurity | None = None
) -> dict[int, int]:
    """Ask a broker for the highest version that it serves of each API and return them by API.

    Raises:
        OSError: the broker does not answer, or lists no API.
        UsageError: it refuses the login.
        ProtocolViolation, struct.error: the answer is not one of Kafka.
    """
    connection = TargetConnection(address, patience_s, security)
    try:
        answer = connection.ask(ApiVersionsRequest())
    finally:
        connection.close()
    assert isinstance(answer, ApiVersionsResponse)
    if not answer.api_keys:
        raise ConnectionError("it lists no API")
    return {each.api_key: each.max_version for each in answer.api_keys}


def _id_at(data: bytes, position: int) -> int:
    return int.from_bytes(data[position : position + _ID_BYTES], "big", signed=True)
