"""Sessions: how they are negotiated, taken up again, and how they end."""

from __future__ import annotations

import pytest

from kcompat.store.interface import StoreUnavailableError
from kcompat.store.tree import StoredSession
from kcompat.zookeeper_server.jute import frame
from kcompat.zookeeper_server.records import (
    Code,
    ConnectRequest,
    CreateRequest,
    OpCode,
    PathRequest,
    PathWatchRequest,
    TextsResponse,
)
from kcompat.zookeeper_server.service import ServerConfig
from kcompat.zookeeper_server.sessions import TICK_MS
from support.current import current
from support.zookeeper_client import Reply
from support.zookeeper_service import OPEN, ZooKeeperFixture

EPHEMERAL = 1


@pytest.mark.parametrize(("asked", "given"), [(1, 4000), (6000, 6000), (10**6, 40_000), (-5, 4000)])
def test_timeouts_are_between_two_and_twenty_ticks(asked: int, given: int) -> None:
    client = ZooKeeperFixture().client()
    session = client.connect(asked)
    assert (session.protocol_version, session.timeout_ms) == (0, given)
    assert session.session_id > 0
    assert session.password is not None
    assert len(session.password) == 16


def test_sessions_differ_in_id_and_password_and_are_in_the_store() -> None:
    fixture = ZooKeeperFixture()
    first, second = fixture.connected().session, fixture.connected().session
    assert first.session_id != second.session_id
    assert first.password != second.password
    assert first.password is not None
    assert fixture.store.tree.sessions[first.session_id] == StoredSession(first.password, 10_000)


def test_nothing_is_answered_before_the_session_is_durable() -> None:
    fixture = ZooKeeperFixture()
    fixture.store.waiting = []
    client = fixture.client()
    client.send(frame(ConnectRequest(0, 0, 4000, 0, b"")))
    assert not client.sent
    fixture.store.commit()
    assert client.sent


def test_a_silent_session_ends_after_its_timeout_with_its_ephemerals_and_its_connection() -> None:
    fixture = ZooKeeperFixture()
    silent, heard = fixture.connected(4000), fixture.connected(4000)
    silent.create("/mine", flags=EPHEMERAL)
    heard.create("/other", flags=EPHEMERAL)
    for _ in range(10):
        fixture.clock.advance(400)
        heard.request(OpCode.PING)
    assert not current(silent.is_closed)
    fixture.clock.advance(2 * TICK_MS)
    assert silent.is_closed
    assert not heard.is_closed
    assert set(fixture.store.tree.nodes) == {"/", "/other"}
    assert list(fixture.store.tree.sessions) == [heard.session.session_id]


def test_who_comes_back_in_time_keeps_the_session_and_the_old_connection_is_closed() -> None:
    fixture = ZooKeeperFixture()
    first = fixture.connected(4000)
    first.create("/mine", flags=EPHEMERAL)
    assert first.session.password is not None
    second = fixture.client()
    again = second.connect(8000, first.session.session_id, first.session.password)
    assert (again.session_id, again.password) == (first.session.session_id, first.session.password)
    assert again.timeout_ms == 8000
    assert first.is_closed
    fixture.clock.advance(7000)
    owned = second.ask(OpCode.GET_EPHEMERALS, PathRequest("")).read(TextsResponse)
    assert owned == TextsResponse(("/mine",))


def test_who_comes_back_sees_the_end_of_what_it_had_asked_for() -> None:
    fixture = ZooKeeperFixture()
    first = fixture.connected(4000)
    fixture.store.waiting = []
    first.request(OpCode.CREATE, CreateRequest("/a", b"", OPEN, 0))
    first.connection.disconnected()
    second = fixture.client()
    again = ConnectRequest(0, 0, 4000, first.session.session_id, first.session.password)
    second.send(frame(again))
    second.request(OpCode.EXISTS, PathWatchRequest("/a", False))
    assert not second.sent
    third = fixture.client()
    third.send(frame(again))
    assert second.is_closed, "one connection at a time"
    third.request(OpCode.EXISTS, PathWatchRequest("/a", False))
    fixture.store.commit()
    assert not second.sent
    third.next_frame()
    (reply,) = third.seen()
    assert isinstance(reply, Reply)
    assert reply.header.err == Code.OK


def test_a_session_may_end_while_its_client_comes_back() -> None:
    fixture = ZooKeeperFixture()
    first = fixture.connected(4000)
    first.connection.disconnected()
    fixture.clock.advance(3900)
    fixture.store.waiting = []
    late = fixture.client()
    late.send(frame(ConnectRequest(0, 0, 4000, first.session.session_id, first.session.password)))
    fixture.clock.advance(4500)
    assert late.is_closed
    fixture.store.commit()
    assert not late.sent
    assert not fixture.store.tree.sessions


def test_a_disconnected_client_has_its_timeout_to_come_back() -> None:
    fixture = ZooKeeperFixture()
    client = fixture.connected(4000)
    client.create("/mine", flags=EPHEMERAL)
    client.connection.disconnected()
    fixture.clock.advance(3900)
    assert "/mine" in fixture.store.tree.nodes
    fixture.clock.advance(500)
    assert "/mine" not in fixture.store.tree.nodes
    late = fixture.client().connect(4000, client.session.session_id, client.session.password or b"")
    assert (late.session_id, late.timeout_ms, late.password) == (0, 0, bytes(16))


@pytest.mark.parametrize(("change", "password"), [(0, b"wrong"), (1, None), (0, b"")])
def test_a_wrong_password_or_id_is_told_that_the_session_is_no_more(
    change: int, password: bytes | None
) -> None:
    fixture = ZooKeeperFixture()
    owner = fixture.connected()
    thief = fixture.client()
    given = (owner.session.password or b"") if password is None else password
    assert thief.connect(4000, owner.session.session_id + change, given).session_id == 0
    assert thief.is_closed
    assert not owner.is_closed


def test_closing_a_session_removes_what_is_its_own_and_answers_last() -> None:
    fixture = ZooKeeperFixture()
    client, other = fixture.connected(), fixture.connected()
    client.create("/mine", flags=EPHEMERAL)
    client.create("/stays")
    assert client.ask(OpCode.CLOSE_SESSION).header.err == 0
    assert client.is_closed
    assert set(fixture.store.tree.nodes) == {"/", "/stays"}
    assert list(fixture.store.tree.sessions) == [other.session.session_id]


def test_sessions_of_an_earlier_process_have_their_whole_timeout() -> None:
    fixture = ZooKeeperFixture(stored={7: StoredSession(b"secret", 4000), 8: StoredSession(b"other", 4000)})
    fixture.clock.advance(3000)
    client = fixture.client()
    assert client.connect(4000, 7, b"secret").session_id == 7
    fixture.clock.advance(1500)
    assert list(fixture.store.tree.sessions) == [7]
    assert fixture.connected().session.session_id > 8


def test_a_session_that_the_disk_does_not_let_end_is_tried_again() -> None:
    fixture = ZooKeeperFixture()
    client = fixture.connected(4000)
    fixture.store.fault = StoreUnavailableError("full")
    fixture.clock.advance(4500)
    assert client.is_closed
    assert client.session.session_id in fixture.store.tree.sessions
    fixture.store.fault = None
    fixture.clock.advance(4500)
    assert not fixture.store.tree.sessions


def test_a_connection_that_says_nothing_is_closed() -> None:
    fixture = ZooKeeperFixture(ServerConfig(sessionless_timeout_ms=1000))
    silent, quick = fixture.client(), fixture.connected()
    fixture.clock.advance(1001)
    assert silent.is_closed
    assert not quick.is_closed
    assert list(fixture.service.connections) == [quick.connection]


def test_nothing_ticks_without_sessions_and_after_a_stop() -> None:
    fixture = ZooKeeperFixture()
    client = fixture.connected(4000)
    client.ask(OpCode.CLOSE_SESSION)
    fixture.clock.advance(TICK_MS)
    assert fixture.clock.pending == 0
    left = fixture.connected(4000)
    fixture.service.stop()
    assert left.is_closed
    assert fixture.clock.pending == 0
    assert left.session.session_id in fixture.store.tree.sessions
