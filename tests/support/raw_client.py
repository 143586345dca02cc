"""A blocking client that speaks the wire and nothing else: no retries, no metadata, one request at a time."""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING, Any

from kcompat.protocol.api_keys import API_FACTS, response_class
from kcompat.protocol.messages.headers import RequestHeader
from support.eventually import limit_s

if TYPE_CHECKING:
    from ssl import SSLContext
    from types import TracebackType
    from typing import Self

    from kcompat.protocol.message import Message


def request_frame(
    request: Message, version: int, correlation_id: int = 0, client_id: str | None = "raw"
) -> bytes:
    """A whole request with its length prefix."""
    key = request.api_key
    header_version = API_FACTS[key].request_header_version(version)
    header = RequestHeader(key, version, correlation_id, client_id if header_version else "")
    body = b"".join((*header.encode(header_version), *request.encode(version)))
    return struct.pack(">i", len(body)) + body


def response_in(frame: bytes | bytearray, request_type: type[Message], version: int) -> Any:
    """The response in a frame without its length, to a request of this type and version."""
    key = request_type.api_key
    header_size = 5 if API_FACTS[key].response_header_version(version) else 4
    return response_class(key).decode(memoryview(frame), version, header_size)


class RawClient:
    """One connection. ConnectionError when the broker closes it, TimeoutError when it is silent.

    `source` is the address of this machine that it comes from; None for any. With `tls` it is encrypted.
    """

    def __init__(
        self,
        address: tuple[str, int],
        timeout_s: float = 10.0,
        source: str | None = None,
        client_id: str = "raw",
        tls: SSLContext | None = None,
    ) -> None:
        bound = None if source is None else (source, 0)
        self._socket = socket.create_connection(address, timeout=limit_s(timeout_s), source_address=bound)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            self._socket = tls.wrap_socket(self._socket, server_hostname=address[0])
        self._correlation_id = 0
        self._client_id = client_id

    def call(self, request: Message, version: int) -> Any:
        """Send one request and wait for its response."""
        self.send(request, version)
        return self.receive(type(request), version)

    def send(self, request: Message, version: int) -> None:
        """Send one request; `receive` takes its response later, in order."""
        self._correlation_id += 1
        self._socket.sendall(request_frame(request, version, self._correlation_id, self._client_id))

    def receive(self, request_type: type[Message], version: int) -> Any:
        """The next response, which answers a request of this type and version."""
        size = struct.unpack(">i", self._read(4))[0]
        return response_in(self._read(size), request_type, version)

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            if not piece:
                raise ConnectionError("the broker closed the connection")
            data += piece
        return bytes(data)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
