"""The protocol of one client connection, without its socket.

Requests are answered in the order in which they arrive. Changes are submitted to the store at once, one after
another, so that one disk write can serve many; other requests wait until the changes before them are made.
Watch events are written as soon as a change is applied, and so before any reply that shows the change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from kcompat.store.interface import StoreError
from kcompat.zookeeper_server import four_letter_words, writes
from kcompat.zookeeper_server.access import digest_identity
from kcompat.zookeeper_server.framing import LENGTH, ReplyQueue, RequestFrames
from kcompat.zookeeper_server.jute import JuteReader, MalformedError, frame
from kcompat.zookeeper_server.reads import MULTI_READS, READS, read_rows
from kcompat.zookeeper_server.records import (
    AuthPacket,
    BufferResponse,
    Code,
    ConnectRequest,
    ConnectResponse,
    OpCode,
    ReadOnly,
    ReplyHeader,
    RequestHeader,
    WatcherEvent,
    decode_multi,
)
from kcompat.zookeeper_server.refusal import RefusedError, code_of
from kcompat.zookeeper_server.service import ServiceStatistics
from kcompat.zookeeper_server.sessions import PASSWORD_BYTES
from kcompat.zookeeper_server.writes import Caller, MultiRefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.clock import Timer
    from kcompat.store.interface import EventType
    from kcompat.store.tree import TreeTransaction
    from kcompat.zookeeper_server.access import Identity
    from kcompat.zookeeper_server.jute import JuteRecord
    from kcompat.zookeeper_server.service import Service
    from kcompat.zookeeper_server.sessions import ClientSession
    from kcompat.zookeeper_server.watches import WatchKind

MAX_WAITING: Final = 200
"""Maximum number of requests of one connection that wait; later ones stay unread in the socket."""
TURN: Final = 50
"""Maximum number of requests of one connection handled in one iteration of the event loop."""
MAX_WAITING_BYTES: Final = 4 << 20
"""Bytes of requests that one connection may have waiting; more stay unread in the socket."""

_NOTIFICATION_XID: Final = -1
_PING_XID: Final = -2
_CONNECTED: Final = 3
"""Value of `WatcherEvent.state` for a connected session."""


class Transport(Protocol):
    """Port to the client's socket."""

    def write(self, data: bytes) -> None:
        """Send bytes after all those written before."""

    def listen(self, wanted: bool) -> None:
        """Resume or pause calls of `received`."""

    def close(self) -> None:
        """Close the socket after all written bytes are sent."""


class ClientConnection:
    """One client's connection to the server, with its session, without its socket."""

    def __init__(self, service: Service, host: str, port: int, transport: Transport) -> None:
        """Begin a connection; `host` and `port` are the client's address."""
        self.host = host
        self.port = port
        self.session: ClientSession | None = None
        self.identities: tuple[Identity, ...] = (("ip", host),)
        self.statistics = ServiceStatistics()
        self.since_ms = service.clock.now_ms()
        self.last_operation = "NA"
        self.last_xid = -1
        self._service = service
        self._transport = transport
        self._received = RequestFrames()
        self._answers = ReplyQueue(service.clock.now_ms, self._answer)
        self._is_new = True
        self._is_going_on = False
        self._is_deaf = False
        self._is_full = False
        self._is_over = False
        self._deadline = service.clock.call_later(service.config.sessionless_timeout_ms, self._give_up_on)
        self._next_turn: Timer | None = None
        service.add(self)

    # Calls of the transport

    def received(self, data: bytes) -> None:
        """Process received bytes."""
        self._received.add(data)
        self._go_on()

    def hold(self, held: bool) -> None:
        """Pause the replies while the client does not read, or resume them."""
        self._answers.hold(held)
        self._go_on()

    def disconnected(self) -> None:
        """Note that the connection is closed. Its session is kept until the session timeout."""
        self._is_over = True
        self._received.clear()
        self._answers.clear()
        self._deadline.cancel()
        if self._next_turn is not None:
            self._next_turn.cancel()
        if self.session is not None and self.session.client is self:
            self.session.client = None
        self._service.remove(self)

    @property
    def waiting(self) -> int:
        """Number of requests without a reply yet."""
        return len(self._answers)

    # Calls of the service

    def hang_up(self) -> None:
        """Close the connection after all written bytes are sent."""
        if not self._is_over:
            self.disconnected()
            self._transport.close()

    @property
    def session_id(self) -> int:
        """Id of the connection's session; 0 before the session is opened."""
        return 0 if self.session is None else self.session.id

    def watch(self, kind: WatchKind, path: str) -> None:
        self._service.watches.add(self, kind, path)

    def has_watch(self, kind: WatchKind, path: str) -> bool:
        return self._service.watches.has(self, kind, path)

    def remove_watch(self, kind: WatchKind, path: str) -> bool:
        return self._service.watches.remove(self, kind, path)

    def notify(self, event: EventType, path: str) -> None:
        self._send(frame(ReplyHeader(_NOTIFICATION_XID, -1, Code.OK), WatcherEvent(event, _CONNECTED, path)))

    # Frames

    def _go_on(self) -> None:
        if self._is_going_on:
            return
        self._is_going_on = True
        for _ in range(TURN):
            if not self._may_go_on() or (body := self._next_frame()) is None:
                break
            self._take(JuteReader(body))
        else:
            self._await_turn()
        self._is_going_on = False
        self._received.forget_taken()
        if self._received.is_full is not self._is_full:
            self._is_full = not self._is_full
            self._transport.listen(not self._is_full)

    def _await_turn(self) -> None:
        if self._next_turn is None:
            self._next_turn = self._service.clock.call_later(0, self._take_turn)

    def _take_turn(self) -> None:
        self._next_turn = None
        self._go_on()

    def _may_go_on(self) -> bool:
        answers = self._answers
        return (
            not (self._is_over or self._is_deaf or answers.is_held)
            and (self._is_new or self.session is not None)
            and len(answers) < MAX_WAITING
            and answers.held_bytes < MAX_WAITING_BYTES
        )

    def _next_frame(self) -> bytes | None:
        if self._is_new and (word := self._received.word()) in four_letter_words.WORDS:
            self._send(four_letter_words.answer(word, self._service).encode())
            self.hang_up()
            return None
        try:
            return self._received.next()
        except MalformedError:
            self.hang_up()
            return None

    def _take(self, reader: JuteReader) -> None:
        self._service.statistics.received += 1
        self.statistics.received += 1
        try:
            if self._is_new:
                self._connect(reader)
            else:
                self._request(RequestHeader.decode(reader), reader)
        except MalformedError:
            self.hang_up()

    def _send(self, data: bytes) -> None:
        if not self._is_over:
            self._service.statistics.sent += 1
            self.statistics.sent += 1
            self._transport.write(data)

    def _give_up_on(self) -> None:
        if self.session is None:
            self.hang_up()

    # The session

    def _connect(self, reader: JuteReader) -> None:
        request = ConnectRequest.decode(reader)
        tells_read_only = bool(reader.left) and ReadOnly.decode(reader) is not None
        if request.last_zxid_seen > self._service.backend.tree.zxid:
            self.hang_up()  # it has seen transactions of another store
            return
        self._is_new = False
        config, sessions = self._service.config, self._service.sessions
        timeout_ms = min(
            max(request.timeout_ms, config.min_session_timeout_ms), config.max_session_timeout_ms
        )
        if request.session_id == 0:
            sessions.create(timeout_ms).then(
                lambda session: self._begin(session, tells_read_only), lambda _: self.hang_up()
            )
            return
        session = sessions.find(request.session_id, request.password or b"")
        if session is None:
            self._send(self._connect_response(0, 0, bytes(PASSWORD_BYTES), tells_read_only))
            self.hang_up()
            return
        session.timeout_ms = timeout_ms
        sessions.give(session, self)
        # Requests of the old connection may still be pending. This empty transaction waits for them, so that
        # the client sees their outcome.
        self._service.backend.transact(session.id, lambda _: None).then(
            lambda _: self._begin(session, tells_read_only), lambda _: self.hang_up()
        )

    def _begin(self, session: ClientSession, tells_read_only: bool) -> None:
        if self._is_over:
            return  # the client has gone; its session ends after the timeout
        self._deadline.cancel()
        self.session = session
        self._service.sessions.give(session, self)
        self._send(self._connect_response(session.timeout_ms, session.id, session.password, tells_read_only))
        self._go_on()

    @staticmethod
    def _connect_response(timeout_ms: int, session_id: int, password: bytes, tells_read_only: bool) -> bytes:
        response = ConnectResponse(0, timeout_ms, session_id, password)
        return frame(response, ReadOnly(False)) if tells_read_only else frame(response)

    # Requests

    def _request(self, header: RequestHeader, reader: JuteReader) -> None:
        assert self.session is not None
        self._answers.next_bytes = reader.left
        self._service.sessions.touch(self.session)
        self.last_xid = header.xid
        kind = _KINDS.get(header.type)
        self.last_operation = "NA" if kind is None else kind.name
        try:
            self._dispatch(kind, header.xid, reader)
        except MalformedError:
            if kind is OpCode.AUTH:
                raise
            self._refuse(header.xid, Code.MARSHALLING_ERROR)

    def _dispatch(self, kind: OpCode | None, xid: int, reader: JuteReader) -> None:
        if kind is not None and kind in READS:
            record, read = READS[kind]
            request = record.decode(reader)
            self._read(xid, lambda: _encoded(read(self._service.backend.tree, self, request)))
            return
        if kind is not None and kind in writes.REQUESTS:
            request = writes.REQUESTS[kind].decode(reader)
            self._write(
                xid, lambda transaction, caller: _encoded(writes.run(transaction, caller, kind, request))
            )
            return
        match kind:
            case OpCode.MULTI:
                operations = writes.decode_operations(reader)
                self._write(
                    xid, lambda transaction, caller: writes.run_multi(transaction, caller, operations)
                )
            case OpCode.MULTI_READ:
                rows = decode_multi(reader, MULTI_READS)
                self._read(xid, lambda: read_rows(self._service.backend.tree, self, rows))
            case OpCode.PING:
                self._read(_PING_XID, bytes)
            case OpCode.AUTH:
                self._authenticate(xid, AuthPacket.decode(reader))
            case OpCode.SASL:
                self._read(xid, BufferResponse(None).encode)  # no mechanism is configured
            case OpCode.CLOSE_SESSION:
                self._close_session(xid)
            case OpCode.RECONFIG:
                self._refuse(xid, Code.RECONFIG_DISABLED)
            case OpCode.CHECK | OpCode.DELETE_CONTAINER:
                self._refuse(xid, Code.UNIMPLEMENTED)
            case _:
                self._refuse(xid, Code.UNIMPLEMENTED, self.hang_up)

    def _read(self, xid: int, read: Callable[[], bytes]) -> None:
        """Reply with the result of `read` once all earlier requests are answered."""

        def make() -> bytes:
            try:
                return self._reply(xid, Code.OK, read())
            except MalformedError:
                return self._reply(xid, Code.MARSHALLING_ERROR)
            except (RefusedError, StoreError) as error:
                return self._reply(xid, code_of(error))

        self._answers.after(make)

    def _write(self, xid: int, work: Callable[[TreeTransaction, Caller], bytes]) -> None:
        """Submit a change to the store, and reply when it is durable."""
        assert self.session is not None
        caller = Caller(self.session.id, self.identities)
        slot = self._answers.promise()

        def refused(error: Exception) -> None:
            if isinstance(error, MultiRefusedError):
                slot.complete(self._reply(xid, Code.OK, error.rows))
            else:
                slot.complete(self._reply(xid, code_of(error)))

        self._service.backend.transact(caller.session_id, lambda transaction: work(transaction, caller)).then(
            lambda done: slot.complete(self._reply(xid, Code.OK, done[1], zxid=done[0])), refused
        )

    def _authenticate(self, xid: int, packet: AuthPacket) -> None:
        match packet.scheme:
            case "digest":
                identity = digest_identity(packet.auth or b"")
            case "ip":
                identity = ("ip", self.host)
            case _:
                self._is_deaf = True
                self._answers.after(lambda: self._reply(xid, Code.AUTH_FAILED, zxid=0), finish=self.hang_up)
                return
        if identity not in self.identities:
            self.identities += (identity,)
        self._answers.after(lambda: self._reply(xid, Code.OK, zxid=0))

    def _close_session(self, xid: int) -> None:
        assert self.session is not None
        self._is_deaf = True
        slot = self._answers.promise()
        self._service.sessions.end(self.session).then(
            lambda zxid: slot.complete(self._reply(xid, Code.OK, zxid=zxid), finish=self.hang_up),
            lambda _: self.hang_up(),  # the session ends after its timeout
        )

    def _refuse(self, xid: int, code: Code, finish: Callable[[], object] | None = None) -> None:
        self._is_deaf = self._is_deaf or finish is not None
        self._answers.after(lambda: self._reply(xid, code), finish)

    def _reply(self, xid: int, code: Code, body: bytes = b"", zxid: int | None = None) -> bytes:
        if zxid is None:
            zxid = self._service.backend.tree.zxid
        header = ReplyHeader(xid, zxid, code).encode()
        return LENGTH.pack(len(header) + len(body)) + header + body

    def _answer(self, answer: bytes, latency_ms: int) -> None:
        self._service.statistics.answered(latency_ms)
        self.statistics.answered(latency_ms)
        self._send(answer)
        if self._received:
            self._go_on()


_KINDS: Final[Mapping[int, OpCode]] = {int(kind): kind for kind in OpCode}


def _encoded(record: JuteRecord | None) -> bytes:
    return b"" if record is None else record.encode()
