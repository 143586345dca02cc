"""Share sessions: which requests go on with one, which partitions they serve, and when they end."""

from __future__ import annotations

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.share.sessions import FINAL_EPOCH, INITIAL_EPOCH, ShareSession, ShareSessionKey, ShareSessions

TOPIC = bytes(range(16))
ONE, TWO, THREE = (TOPIC, 1), (TOPIC, 2), (TOPIC, 3)
A, B = ShareSessionKey("group", "a"), ShareSessionKey("group", "b")


def begin(
    sessions: ShareSessions, key: ShareSessionKey = A, *partitions: tuple[bytes, int], at: str = "socket"
) -> ShareSession:
    session = sessions.fetch(key, INITIAL_EPOCH, partitions, (), at, has_acknowledgements=False)
    assert isinstance(session, ShareSession)
    sessions.check_invariants()
    return session


def go_on(
    sessions: ShareSessions,
    epoch: int,
    named: tuple[tuple[bytes, int], ...] = (),
    forgotten: tuple[tuple[bytes, int], ...] = (),
) -> ShareSession | ErrorCode:
    found = sessions.fetch(A, epoch, named, forgotten, "socket", has_acknowledgements=True)
    sessions.check_invariants()
    return found


@pytest.mark.parametrize("epoch", [1, 7, FINAL_EPOCH])
def test_without_a_session_there_is_none_to_go_on_with(epoch: int) -> None:
    sessions = ShareSessions(10)
    begin(sessions, B)
    assert go_on(sessions, epoch) == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert sessions.acknowledge(A, epoch) == ErrorCode.SHARE_SESSION_NOT_FOUND


def test_each_request_names_the_next_epoch() -> None:
    sessions = ShareSessions(10)
    session = begin(sessions, A, ONE)
    assert go_on(sessions, 1) is session
    assert go_on(sessions, 1) == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert sessions.acknowledge(A, 2) == ErrorCode.NONE
    assert sessions.acknowledge(A, 2) == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert sessions.acknowledge(A, INITIAL_EPOCH) == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert go_on(sessions, 3) is session
    session.epoch = 2**31 - 1
    go_on(sessions, 2**31 - 1)
    assert session.epoch == 1


def test_the_final_epoch_ends_nothing_by_itself() -> None:
    sessions = ShareSessions(10)
    session = begin(sessions, A, ONE)
    assert go_on(sessions, FINAL_EPOCH) is session
    assert sessions.acknowledge(A, FINAL_EPOCH) == ErrorCode.NONE
    assert session.epoch == 1
    assert sessions.end(A) == [ONE]
    assert sessions.end(A) == []


def test_a_new_session_takes_the_place_of_the_old_one_and_acknowledges_nothing() -> None:
    sessions = ShareSessions(1)
    begin(sessions, A, ONE)
    refused = sessions.fetch(A, INITIAL_EPOCH, (), (), "socket", has_acknowledgements=True)
    assert refused == ErrorCode.INVALID_REQUEST
    assert sessions.end(A) == [ONE]
    begin(sessions, A, ONE)
    assert list(begin(sessions, A, TWO).partitions) == [TWO]


def test_there_are_no_more_sessions_than_may_be() -> None:
    sessions = ShareSessions(1)
    begin(sessions, A)
    refused = sessions.fetch(B, INITIAL_EPOCH, (), (), "other", has_acknowledgements=False)
    assert refused == ErrorCode.SHARE_SESSION_LIMIT_REACHED
    sessions.end(A)
    begin(sessions, B)
    assert len(sessions) == 1


def test_a_session_knows_what_was_named_and_not_forgotten() -> None:
    sessions = ShareSessions(10)
    session = begin(sessions, A, ONE, TWO)
    go_on(sessions, 1, named=(TWO, THREE), forgotten=(ONE,))
    assert list(session.partitions) == [TWO, THREE]
    go_on(sessions, 2, named=(ONE,), forgotten=(ONE,))
    assert list(session.partitions) == [TWO, THREE]


def test_what_an_answer_mentions() -> None:
    sessions = ShareSessions(10)
    session = begin(sessions, A, ONE)
    assert not session.must_tell(ONE, has_records=False, has_error=False)
    go_on(sessions, 1, named=(TWO,))
    assert session.must_tell(TWO, has_records=False, has_error=False)
    assert not session.must_tell(TWO, has_records=False, has_error=False)
    assert session.must_tell(TWO, has_records=False, has_error=True)
    assert session.must_tell(TWO, has_records=False, has_error=False)
    assert not session.must_tell(TWO, has_records=False, has_error=False)
    assert session.must_tell(ONE, has_records=True, has_error=False)
    assert list(session.partitions) == [TWO, ONE]


def test_each_partition_has_its_turn_to_be_the_first() -> None:
    session = begin(ShareSessions(10), A, ONE, TWO, THREE)
    orders = [session.rotated(epoch) for epoch in (FINAL_EPOCH, INITIAL_EPOCH, 1, 2, 3, 4)]
    turned = [[ONE, TWO, THREE], [TWO, THREE, ONE], [THREE, ONE, TWO]]
    assert orders == [turned[0], turned[0], turned[1], turned[2], turned[0], turned[1]]
    assert begin(ShareSessions(10)).rotated(5) == []


def test_a_session_ends_with_its_connection() -> None:
    sessions = ShareSessions(10)
    session = begin(sessions, A, ONE, at="first")
    begin(sessions, B, at="second")
    assert sessions.disconnected("first") is session
    assert sessions.disconnected("first") is None
    assert (sessions.find(A), sessions.has_members("group")) == (None, True)
    sessions.disconnected("second")
    assert not sessions.has_members("group")


def test_a_session_begun_anew_elsewhere_outlives_its_old_connection() -> None:
    sessions = ShareSessions(10)
    begin(sessions, A, at="first")
    session = begin(sessions, A, at="second")
    assert sessions.disconnected("first") is None
    assert sessions.find(A) is session
