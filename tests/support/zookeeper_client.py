"""A client of ZooKeeper's protocol that sends what it is told and shows what it gets, record by record."""

from __future__ import annotations

import socket
from collections import deque
from typing import TYPE_CHECKING, Self

from msgspec import Struct

from kcompat.zookeeper_server.jute import JuteReader, frame
from kcompat.zookeeper_server.records import (
    ConnectRequest,
    ConnectResponse,
    OpCode,
    ReadOnly,
    ReplyHeader,
    RequestHeader,
    WatcherEvent,
)
from support.eventually import limit_s

if TYPE_CHECKING:
    from kcompat.zookeeper_server.jute import JuteRecord

NOTIFICATION_XID = -1
TIMEOUT_S = 20.0


class Reply(Struct, frozen=True):
    """A reply; `body` is what follows its header."""

    header: ReplyHeader
    body: bytes

    def read(self, record: type[JuteRecord]) -> JuteRecord:
        """The body as a record, which must be all of it."""
        reader = JuteReader(self.body)
        value = record.decode(reader)
        assert not reader.left, self
        return value


class ZooKeeperClient:
    """One connection; `with` closes it."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._socket = socket.create_connection(address, limit_s(TIMEOUT_S))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = bytearray()
        self._xid = 0
        self.events: deque[WatcherEvent] = deque()
        """Events of watches, in order."""
        self.session: ConnectResponse

    def connect(
        self,
        timeout_ms: int = 10_000,
        session_id: int = 0,
        password: bytes = bytes(16),
        last_zxid_seen: int = 0,
    ) -> ConnectResponse:
        """Ask for a session, or take one up."""
        request = ConnectRequest(0, last_zxid_seen, timeout_ms, session_id, password)
        self.send(frame(request, ReadOnly(False)))
        reader = JuteReader(self._frame())
        self.session = ConnectResponse.decode(reader)
        assert not ReadOnly.decode(reader).read_only
        return self.session

    def ask(self, kind: int, request: JuteRecord | None = None, xid: int | None = None) -> Reply:
        """One request and its reply; what watches tell before that is in `events`."""
        self.request(kind, request, xid)
        return self.reply()

    def request(self, kind: int, request: JuteRecord | bytes | None = None, xid: int | None = None) -> None:
        """One request, whose reply is asked for later."""
        self._xid += 1
        header = RequestHeader(self._xid if xid is None else xid, kind).encode()
        body = b"" if request is None else request if isinstance(request, bytes) else request.encode()
        self.send((len(header) + len(body)).to_bytes(4, "big") + header + body)

    def reply(self) -> Reply:
        """The next reply."""
        while True:
            reader = JuteReader(self._frame())
            header = ReplyHeader.decode(reader)
            if header.xid != NOTIFICATION_XID:
                return Reply(header, reader.rest())
            self.events.append(WatcherEvent.decode(reader))

    def next_event(self) -> WatcherEvent:
        """Return the next event of a watch, while no reply is expected."""
        if not self.events:
            reader = JuteReader(self._frame())
            assert ReplyHeader.decode(reader).xid == NOTIFICATION_XID
            self.events.append(WatcherEvent.decode(reader))
        return self.events.popleft()

    def is_closed(self) -> bool:
        """Wait until the server has closed the connection, or has sent something."""
        try:
            return not self._socket.recv(1)
        except ConnectionError:
            return True

    def all(self) -> bytes:
        """Everything until the server closes the connection."""
        parts = []
        while part := self._socket.recv(1 << 16):
            parts.append(part)
        return b"".join(parts)

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._socket.sendall(data)

    def close_session(self) -> Reply:
        """End the session."""
        return self.ask(OpCode.CLOSE_SESSION)

    def close(self) -> None:
        """Close the connection; the session lives on."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _frame(self) -> bytes:
        self._receive(4)
        length = int.from_bytes(self._received[:4], "big", signed=True)
        self._receive(4 + length)
        frame = bytes(self._received[4 : 4 + length])
        del self._received[: 4 + length]
        return frame

    def _receive(self, size: int) -> None:
        while len(self._received) < size:
            part = self._socket.recv(1 << 16)
            if not part:
                raise ConnectionError("the server has closed the connection")
            self._received += part
