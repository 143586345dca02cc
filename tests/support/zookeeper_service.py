"""ZooKeeper's server without sockets, disk or real time.

Its store commits when a test says so, and its clients are bytes.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from kcompat.promise import Promise
from kcompat.store.tree import Tree, TreeTransaction
from kcompat.zookeeper_server.connection import ClientConnection
from kcompat.zookeeper_server.jute import JuteReader, frame
from kcompat.zookeeper_server.records import (
    ACL,
    ConnectRequest,
    ConnectResponse,
    CreateRequest,
    Id,
    OpCode,
    ReadOnly,
    ReplyHeader,
    RequestHeader,
    WatcherEvent,
)
from kcompat.zookeeper_server.service import ServerConfig, Service
from support.virtual_clock import VirtualClock
from support.zookeeper_client import NOTIFICATION_XID, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.store.tree import NodeChange, StoredSession
    from kcompat.zookeeper_server.jute import JuteRecord

T = TypeVar("T")

OPEN = (ACL(31, Id("world", "anyone")),)


class FakeStore:
    """A `Backend`: transactions run at once, or wait in `waiting` while it is a list."""

    def __init__(self) -> None:
        self.tree = Tree()
        self.waiting: list[Callable[[], object]] | None = None
        self.fault: Exception | None = None
        self.changed: Callable[[NodeChange], object]

    def transact(self, session_id: int, work: Callable[[TreeTransaction], T]) -> Promise[tuple[int, T]]:
        promise: Promise[tuple[int, T]] = Promise()

        def run() -> None:
            if self.fault is not None:
                promise.fail(self.fault)
                return
            transaction = TreeTransaction(self.tree, session_id, 5, self.tree.zxid + 1)
            try:
                result = work(transaction)
            except Exception as error:
                promise.fail(error)
                return
            if transaction.staged:
                transaction.apply()
                for change in transaction.changes:
                    self.changed(change)
            promise.complete((self.tree.zxid, result))

        if self.waiting is None:
            run()
        else:
            self.waiting.append(run)
        return promise

    def commit(self) -> None:
        """Run what waits."""
        waiting, self.waiting = self.waiting or [], []
        for run in waiting:
            run()


class FakeClient:
    """The other end of a `ClientConnection`: its `Transport`, and what a client does with it."""

    def __init__(self, service: Service, host: str = "127.0.0.1") -> None:
        self.sent = bytearray()
        """Bytes that the server has sent and no test has read."""
        self.is_closed = False
        self.is_listening = True
        self.session: ConnectResponse
        self.connection = ClientConnection(service, host, 40000, self)
        self._xid = 0

    def write(self, data: bytes) -> None:
        assert not self.is_closed
        self.sent += data

    def listen(self, wanted: bool) -> None:
        self.is_listening = wanted

    def close(self) -> None:
        self.is_closed = True

    def send(self, data: bytes) -> None:
        """Bytes for the server."""
        self.connection.received(data)

    def connect(
        self, timeout_ms: int = 10_000, session_id: int = 0, password: bytes = b""
    ) -> ConnectResponse:
        """Ask for a session, or take one up."""
        self.send(frame(ConnectRequest(0, 0, timeout_ms, session_id, password), ReadOnly(False)))
        reader = JuteReader(self.next_frame())
        self.session = ConnectResponse.decode(reader)
        assert not ReadOnly.decode(reader).read_only
        return self.session

    def request(self, kind: int, request: JuteRecord | bytes = b"") -> int:
        """A request; its xid."""
        self._xid += 1
        body = request if isinstance(request, bytes) else request.encode()
        header = RequestHeader(self._xid, kind).encode()
        self.send((len(header) + len(body)).to_bytes(4, "big") + header + body)
        return self._xid

    def ask(self, kind: int, request: JuteRecord | bytes = b"") -> Reply:
        """A request that is answered at once, and before which no watch tells anything."""
        xid = self.request(kind, request)
        (reply,) = self.seen()
        assert isinstance(reply, Reply)
        assert reply.header.xid == xid
        return reply

    def create(self, path: str, data: bytes | None = b"", flags: int = 0) -> int:
        """Make a node; the code of the reply."""
        return self.ask(OpCode.CREATE, CreateRequest(path, data, OPEN, flags)).header.err

    def seen(self) -> list[Reply | tuple[int, str]]:
        """Replies and events of watches that have come, in their order."""
        seen: list[Any] = []
        while self.sent:
            reader = JuteReader(self.next_frame())
            header = ReplyHeader.decode(reader)
            if header.xid == NOTIFICATION_XID:
                event = WatcherEvent.decode(reader)
                seen.append((event.type, event.path))
            else:
                seen.append(Reply(header, reader.rest()))
        return seen

    def next_frame(self) -> bytes:
        """The next frame that has come."""
        length = int.from_bytes(self.sent[:4], "big")
        frame = bytes(self.sent[4 : 4 + length])
        assert len(frame) == length
        del self.sent[: 4 + length]
        return frame


class ZooKeeperFixture:
    """A server and its clients."""

    def __init__(
        self, config: ServerConfig | None = None, stored: Mapping[int, StoredSession] | None = None
    ) -> None:
        self.clock = VirtualClock()
        self.store = FakeStore()
        self.store.tree.sessions.update(stored or {})
        self.service = Service(self.store, self.clock, Random(1), config or ServerConfig(), stored or {})
        self.store.changed = self.service.changed

    def client(self, host: str = "127.0.0.1") -> FakeClient:
        """A connection that has said nothing yet."""
        return FakeClient(self.service, host)

    def connected(self, timeout_ms: int = 10_000) -> FakeClient:
        """A client with a session of its own."""
        client = self.client()
        client.connect(timeout_ms)
        return client
