"""One connection: frames, order, limits, and what hostile clients cost."""

from __future__ import annotations

import pytest

from kcompat.store.interface import StoreUnavailableError
from kcompat.zookeeper_server.connection import MAX_WAITING, MAX_WAITING_BYTES, TURN
from kcompat.zookeeper_server.jute import frame
from kcompat.zookeeper_server.records import (
    MAX_BUFFER,
    AuthPacket,
    Code,
    ConnectRequest,
    ConnectResponse,
    CreateRequest,
    GetDataResponse,
    OpCode,
    PathRequest,
    PathWatchRequest,
    RequestHeader,
    SetDataRequest,
    WhoAmIResponse,
)
from support.current import current
from support.zookeeper_client import Reply
from support.zookeeper_service import OPEN, ZooKeeperFixture

CONNECT = ConnectRequest(0, 0, 4000, 0, b"")


def xids(seen: list[Reply | tuple[int, str]]) -> list[int]:
    return [each.header.xid for each in seen if isinstance(each, Reply)]


def test_frames_may_come_in_any_pieces() -> None:
    fixture = ZooKeeperFixture()
    client = fixture.connected()
    client.create("/a", b"1")
    pieces = bytearray()
    receive = client.connection.received

    def keep(data: bytes) -> None:
        pieces.extend(data)

    client.connection.received = keep  # type: ignore[method-assign]
    client.request(OpCode.GET_DATA, PathWatchRequest("/a", False))
    client.request(OpCode.EXISTS, PathWatchRequest("/b", False))
    for byte in pieces:
        receive(bytes((byte,)))
    assert xids(client.seen()) == [2, 3]
    receive(bytes(pieces))
    assert xids(client.seen()) == [2, 3]


def test_a_client_from_before_read_only_servers_gets_no_word_of_them() -> None:
    client = ZooKeeperFixture().client()
    client.send(frame(CONNECT))
    assert len(client.next_frame()) == len(ConnectResponse(0, 0, 0, bytes(16)).encode())


def test_a_client_that_has_seen_a_later_transaction_is_at_the_wrong_server() -> None:
    fixture = ZooKeeperFixture()
    fixture.connected().create("/a")
    client = fixture.client()
    client.send(frame(ConnectRequest(0, fixture.store.tree.zxid + 1, 4000, 0, b"")))
    assert client.is_closed
    assert not client.sent


def test_answers_come_in_the_order_of_the_requests_and_reads_see_the_changes_before_them() -> None:
    fixture = ZooKeeperFixture()
    client = fixture.connected()
    client.create("/a", b"1")
    fixture.store.waiting = []
    client.request(OpCode.SET_DATA, SetDataRequest("/a", b"2", -1))
    client.request(OpCode.GET_DATA, PathWatchRequest("/a", False))
    client.request(OpCode.SET_DATA, SetDataRequest("/a", b"3", -1))
    client.request(OpCode.GET_DATA, PathWatchRequest("/nobody", False))
    client.request(OpCode.PING)
    assert client.seen() == []
    assert len(fixture.store.waiting) == 2, "changes do not wait for each other"
    assert client.connection.waiting == 5
    fixture.store.commit()
    seen = client.seen()
    assert xids(seen) == [2, 3, 4, 5, -2]
    first_read, missing = seen[1], seen[3]
    assert isinstance(first_read, Reply)
    assert isinstance(missing, Reply)
    data = first_read.read(GetDataResponse)
    assert isinstance(data, GetDataResponse)
    assert data.data == b"2"
    assert missing.header.err == Code.NO_NODE


def test_every_reply_has_the_transaction_it_shows() -> None:
    fixture = ZooKeeperFixture()
    client = fixture.connected()
    create = client.ask(OpCode.CREATE, CreateRequest("/a", b"", OPEN, 0))
    assert create.header.zxid == fixture.store.tree.get("/a").czxid == fixture.store.tree.zxid
    fixture.connected().create("/b")
    assert client.ask(OpCode.EXISTS, PathWatchRequest("/a", False)).header.zxid == fixture.store.tree.zxid
    assert client.ask(OpCode.EXISTS, PathWatchRequest("/c", False)).header.zxid == fixture.store.tree.zxid


def test_a_disk_that_refuses_is_a_system_error_and_changes_nothing() -> None:
    fixture = ZooKeeperFixture()
    client = fixture.connected()
    fixture.store.fault = StoreUnavailableError("full")
    assert client.create("/a") == Code.SYSTEM_ERROR
    fixture.store.fault = None
    assert client.create("/a") == Code.OK


@pytest.mark.parametrize("length", [-1, -(1 << 31), MAX_BUFFER + 1, 0x7FFFFFFF])
@pytest.mark.parametrize("has_session", [False, True])
def test_lengths_that_are_none_close_the_connection(length: int, has_session: bool) -> None:
    fixture = ZooKeeperFixture()
    client = fixture.connected() if has_session else fixture.client()
    client.send(length.to_bytes(4, "big", signed=True))
    assert client.is_closed
    assert not fixture.service.connections


@pytest.mark.parametrize(
    "body", [b"", b"x", CONNECT.encode()[:-1], CONNECT.encode()[:-4] + b"\x7f\xff\xff\xff"]
)
def test_a_first_frame_that_is_no_request_for_a_session_closes_the_connection(body: bytes) -> None:
    client = ZooKeeperFixture().client()
    client.send(len(body).to_bytes(4, "big") + body)
    assert client.is_closed
    assert not client.sent


def test_a_frame_without_a_header_closes_the_connection_but_not_the_session() -> None:
    fixture = ZooKeeperFixture()
    client = fixture.connected()
    client.send(b"\0\0\0\4abcd")
    assert client.is_closed
    again = fixture.client().connect(4000, client.session.session_id, client.session.password or b"")
    assert again.session_id == client.session.session_id


@pytest.mark.parametrize("kind", [OpCode.CREATE, OpCode.GET_DATA, OpCode.MULTI, OpCode.SET_WATCHES2])
def test_a_body_that_is_cut_short_is_refused_and_the_connection_goes_on(kind: OpCode) -> None:
    client = ZooKeeperFixture().connected()
    assert client.ask(kind, b"\0\0\0\2/").header.err == Code.MARSHALLING_ERROR
    assert client.create("/a") == Code.OK


@pytest.mark.parametrize("kind", [0, 10, 99, 108, -1, -10, 0x7FFFFFFF])
def test_an_unknown_request_is_answered_and_ends_the_connection(kind: int) -> None:
    client = ZooKeeperFixture().connected()
    assert client.ask(kind).header.err == Code.UNIMPLEMENTED
    assert client.is_closed


@pytest.mark.parametrize(
    ("kind", "code"),
    [(OpCode.RECONFIG, Code.RECONFIG_DISABLED), (OpCode.DELETE_CONTAINER, Code.UNIMPLEMENTED)],
)
def test_what_is_not_served_is_refused(kind: OpCode, code: Code) -> None:
    client = ZooKeeperFixture().connected()
    assert client.ask(kind).header.err == code
    assert not client.is_closed


def test_a_client_proves_who_it_is_before_its_next_request() -> None:
    client = ZooKeeperFixture().connected()
    reply = client.ask(OpCode.AUTH, AuthPacket(0, "digest", b"me:secret"))
    assert (reply.header.zxid, reply.header.err, reply.body) == (0, 0, b"")
    who = client.ask(OpCode.WHO_AM_I).read(WhoAmIResponse)
    assert isinstance(who, WhoAmIResponse)
    assert [(each.auth_scheme, each.user) for each in who.client_info] == [
        ("ip", "127.0.0.1"),
        ("digest", "me"),
    ]


def test_an_unknown_scheme_is_answered_and_ends_the_connection_unread() -> None:
    fixture = ZooKeeperFixture()
    client = fixture.connected()
    client.request(OpCode.AUTH, AuthPacket(0, "kerberos", b""))
    client.request(OpCode.CREATE, CreateRequest("/a", b"", OPEN, 0))
    (reply,) = client.seen()
    assert isinstance(reply, Reply)
    assert reply.header.err == Code.AUTH_FAILED
    assert client.is_closed
    assert "/a" not in fixture.store.tree.nodes


def test_a_flood_of_requests_waits_unread() -> None:
    fixture = ZooKeeperFixture()
    client = fixture.connected()
    fixture.store.waiting = []
    for number in range(MAX_WAITING + 5):
        client.request(OpCode.CREATE, CreateRequest(f"/{number}", b"", OPEN, 0))
    assert len(fixture.store.waiting) == client.connection.waiting == MAX_WAITING
    while fixture.store.waiting:
        fixture.store.commit()
    assert xids(client.seen()) == list(range(1, MAX_WAITING + 6))


def test_a_client_that_asks_much_at_once_has_turns_like_others() -> None:
    fixture = ZooKeeperFixture()
    client = fixture.connected()
    sync = PathRequest("/").encode()
    asked = b"".join(
        (8 + len(sync)).to_bytes(4, "big") + RequestHeader(number, OpCode.SYNC).encode() + sync
        for number in range(2 * TURN + 1)
    )
    client.send(asked)
    assert xids(client.seen()) == list(range(TURN))
    client.send(b"")
    assert len(client.seen()) == TURN
    fixture.clock.advance()
    assert xids(client.seen()) == [2 * TURN]
    client.send(asked)
    client.connection.disconnected()
    fixture.clock.advance()
    assert len(client.seen()) == TURN


def test_a_flood_of_large_requests_is_not_even_received() -> None:
    fixture = ZooKeeperFixture()
    client = fixture.connected()
    fixture.store.waiting = []
    large = CreateRequest("/a", bytes(1_000_000), OPEN, 2)
    sent = 0
    while current(client.is_listening):
        client.request(OpCode.CREATE, large)
        sent += 1
        assert sent < 10
    assert len(fixture.store.waiting) == -(-MAX_WAITING_BYTES // 1_000_000)
    while fixture.store.waiting:
        fixture.store.commit()
    assert client.is_listening
    assert xids(client.seen()) == list(range(1, sent + 1))


def test_a_client_that_takes_nothing_is_answered_nothing() -> None:
    fixture = ZooKeeperFixture()
    client = fixture.connected()
    client.connection.hold(True)
    client.request(OpCode.CREATE, CreateRequest("/a", b"", OPEN, 0))
    client.request(OpCode.SYNC, PathRequest("/"))
    assert client.seen() == []
    client.connection.hold(False)
    assert xids(client.seen()) == [1, 2]


def test_an_address_may_have_so_many_connections() -> None:
    fixture = ZooKeeperFixture()
    clients = [fixture.client("10.0.0.1") for _ in range(60)]
    assert not fixture.service.admits("10.0.0.1")
    assert fixture.service.admits("10.0.0.2")
    clients[0].connection.disconnected()
    clients[0].connection.disconnected()
    assert fixture.service.admits("10.0.0.1")


def test_a_change_that_is_under_way_is_made_though_its_client_is_gone() -> None:
    fixture = ZooKeeperFixture()
    client = fixture.connected()
    fixture.store.waiting = []
    client.request(OpCode.CREATE, CreateRequest("/a", b"", OPEN, 0))
    client.connection.disconnected()
    fixture.store.commit()
    assert "/a" in fixture.store.tree.nodes
    assert not client.sent
