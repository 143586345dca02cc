"""A fetcher and the session of its leader; and answers that come when nobody waits for them any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.fetch import FetchRequest, FetchResponse
from kcompat.replication.following.fetcher import FIRST_BACKOFF_MS
from kcompat.replication.following.fetcher_connection import FetcherConnection
from support.follower_pair import EPOCH, ME, Pair, answer, asked, one
from support.replica_logs import TOPIC, TOPIC_ID, MemoryLog
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.protocol.api_keys import ApiKey
    from kcompat.protocol.message import Message

# -- answers that come too late --------------------------------------------------------------------------


def test_an_answer_for_another_offset_or_epoch_changes_nothing() -> None:
    pair = one()
    request = pair.ask()
    assert request is not None
    response = pair.leader.answer(request)
    pair.fetcher.follow(pair.logs[0], EPOCH + 1)
    pair.answer(response)
    assert pair.logs[0].written == "00"
    pair = one()
    request = pair.ask()
    assert request is not None
    response = pair.leader.answer(request)
    pair.logs[0].truncate_to(1)
    pair.fetcher.follow(pair.logs[0], EPOCH)
    pair.answer(response)
    assert pair.logs[0].written == "0"


def test_what_is_forgotten_is_not_touched_any_more() -> None:
    pair = one()
    request = pair.ask()
    assert request is not None
    response = pair.leader.answer(request)
    pair.fetcher.forget((TOPIC, 0))
    pair.answer(response)
    assert pair.logs[0].written == "00"
    request = pair.ask()
    assert isinstance(request, FetchRequest), "to take it out of the session"
    assert [row.partitions for row in request.forgotten_topics_data] == [[0]]
    pair.answer(FetchResponse(session_id=0))
    assert pair.ask() is None


# -- sessions --------------------------------------------------------------------------------------------


def test_a_call_that_fails_pauses_all_and_begins_a_session_anew() -> None:
    pair = one()
    pair.step()
    request = pair.ask()
    assert request is not None
    pair.fail(request)
    assert pair.ask() is None
    pair.now_ms += FIRST_BACKOFF_MS
    request = pair.ask()
    assert isinstance(request, FetchRequest)
    assert (request.session_id, request.session_epoch) == (7, 0), "the old session is closed by it"
    assert asked(request) == [(0, 4)]


@pytest.mark.parametrize(
    ("error", "session_id", "pauses"),
    [
        (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0, False),
        (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 7, False),
        (ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, 7, True),
        (ErrorCode.UNKNOWN_SERVER_ERROR, 7, True),
    ],
)
def test_a_session_that_is_refused_begins_anew(error: ErrorCode, session_id: int, pauses: bool) -> None:
    pair = one()
    pair.step()
    pair.ask()
    pair.answer(FetchResponse(error_code=error))
    assert (pair.ask() is None) is pauses
    pair.now_ms += FIRST_BACKOFF_MS
    request = pair.ask()
    assert isinstance(request, FetchRequest)
    assert (request.session_id, request.session_epoch) == (session_id, 0)
    assert asked(request) == [(0, 4)]


def test_a_leader_without_room_for_sessions_is_told_everything_each_time() -> None:
    pair = one("0", "0")
    pair.ask()
    pair.answer(answer(FetchResponse.PartitionData(0, high_watermark=1), session_id=0))
    request = pair.ask()
    assert isinstance(request, FetchRequest)
    assert (request.session_id, request.session_epoch, asked(request)) == (0, 0, [(0, 1)])


def test_a_topic_that_was_made_anew_is_another() -> None:
    pair = one("0", "0")
    pair.step()
    anew = MemoryLog()
    anew.topic_id = b"u" * 16
    pair.fetcher.follow(anew, EPOCH)
    request = pair.ask()
    assert isinstance(request, FetchRequest)
    assert [topic.topic_id for topic in request.forgotten_topics_data] == [TOPIC_ID]
    assert [topic.topic_id for topic in request.topics] == [anew.topic_id]


class OldLeader:
    """Keeps what it is asked in this version of Fetch."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.asked: list[Message] = []

    def ask(self, _: ApiKey, make: Callable[[int], Message], timeout_ms: int) -> Promise[Message]:
        assert timeout_ms
        self.asked.append(make(self.version))
        return Promise()

    def disconnect(self) -> None:
        raise AssertionError("nobody gives it up")


@pytest.mark.parametrize(("version", "forgotten"), [(12, [[1]]), (13, [[0, 1]])])
def test_what_was_made_anew_is_forgotten_only_where_topics_have_ids(
    version: int, forgotten: list[list[int]]
) -> None:
    """By its name the new partition would be forgotten too: leaders do that after they have added."""
    pair = Pair(MemoryLog("0"), MemoryLog("0", index=1), leads=[MemoryLog("0"), MemoryLog("0", index=1)])
    pair.step()
    anew = MemoryLog()
    anew.topic_id = b"u" * 16
    pair.fetcher.follow(anew, EPOCH)
    pair.fetcher.forget((TOPIC, 1))
    leader, clock = OldLeader(version), VirtualClock()
    FetcherConnection(ME, pair.fetcher, lambda: leader, clock, 30_000).go_on_soon()
    clock.advance(0)
    (request,) = leader.asked
    assert isinstance(request, FetchRequest)
    assert asked(request) == [(0, 0)]
    assert [gone.partitions for gone in request.forgotten_topics_data] == forgotten
