from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.replication.reading import Fetched, FetchSpec
from kcompat.replication.waiting.fetch_session import (
    EVICTION_MS,
    FetchContext,
    FetchSessions,
    FetchTarget,
    next_epoch,
)

if TYPE_CHECKING:
    from kcompat.replication.waiting.fetch_session import PartitionKey


def target(topic: str, index: int = 0, offset: int = 0) -> FetchTarget:
    return FetchTarget(topic, index, FetchSpec(offset, 1000))


def fetched(records: bytes = b"", high_watermark: int = 5, error: ErrorCode = ErrorCode.NONE) -> Fetched:
    return Fetched(error, high_watermark, high_watermark, 0, records)


def start(sessions: FetchSessions, *topics: str, now_ms: int = 0, by_follower: bool = False) -> int:
    context = sessions.open(
        0,
        0,
        [target(topic) for topic in topics],
        [],
        uses_topic_ids=False,
        now_ms=now_ms,
        is_privileged=by_follower,
    )
    assert isinstance(context, FetchContext)
    session_id, _ = context.answer([(each, fetched()) for each in context.targets], now_ms)
    return session_id


def go_on(
    sessions: FetchSessions,
    session_id: int,
    epoch: int,
    *wanted: FetchTarget,
    forgotten: tuple[str, ...] = (),
) -> FetchContext | ErrorCode:
    keys: list[PartitionKey] = [(topic, 0) for topic in forgotten]
    return sessions.open(session_id, epoch, list(wanted), keys, uses_topic_ids=False, now_ms=1)


def test_a_full_fetch_starts_a_session_and_answers_every_partition() -> None:
    sessions = FetchSessions(slots=10, random=Random(0))
    context = sessions.open(0, 0, [target("a"), target("b")], [], uses_topic_ids=False, now_ms=0)
    assert isinstance(context, FetchContext)
    session_id, told = context.answer([(each, fetched()) for each in context.targets], 0)
    assert session_id > 0
    assert [each.topic for each, _ in told] == ["a", "b"]


def test_an_incremental_answer_mentions_only_what_changed() -> None:
    sessions = FetchSessions(slots=10, random=Random(0))
    session_id = start(sessions, "a", "b", "c", "d")
    context = go_on(sessions, session_id, 1)
    assert isinstance(context, FetchContext)
    results = [
        fetched(),
        fetched(b"x"),
        fetched(high_watermark=6),
        fetched(error=ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ]
    _, told = context.answer(list(zip(context.targets, results, strict=True)), 1)
    assert [each.topic for each, _ in told] == ["b", "c", "d"]


def test_the_first_answer_after_an_error_is_told_though_nothing_else_changed() -> None:
    sessions = FetchSessions(slots=10, random=Random(0))
    session_id = start(sessions, "a")
    for epoch, error, mentioned in (
        (1, ErrorCode.NOT_LEADER_OR_FOLLOWER, 1),
        (2, ErrorCode.NONE, 1),
        (3, ErrorCode.NONE, 0),
    ):
        context = go_on(sessions, session_id, epoch)
        assert isinstance(context, FetchContext)
        _, told = context.answer([(each, fetched(error=error)) for each in context.targets], epoch)
        assert len(told) == mentioned, epoch


def test_the_first_answer_after_a_divergence_is_told_though_nothing_else_changed() -> None:
    """A follower that has to truncate its log ignores everything else in the response that says so."""
    sessions = FetchSessions(slots=10, random=Random(0))
    session_id = start(sessions, "a")
    for epoch, diverging, mentioned in ((1, (0, 3), 1), (2, None, 1), (3, None, 0)):
        context = go_on(sessions, session_id, epoch)
        assert isinstance(context, FetchContext)
        answer = fetched()
        answer.diverging = diverging
        _, told = context.answer([(each, answer) for each in context.targets], epoch)
        assert len(told) == mentioned, epoch


def test_partitions_with_data_are_served_last_the_next_time() -> None:
    sessions = FetchSessions(slots=10, random=Random(0))
    session_id = start(sessions, "a", "b", "c")
    context = go_on(sessions, session_id, 1)
    assert isinstance(context, FetchContext)
    context.answer([(each, fetched(b"x" if each.topic == "a" else b"")) for each in context.targets], 1)
    context = go_on(sessions, session_id, 2)
    assert isinstance(context, FetchContext)
    assert [each.topic for each in context.targets] == ["b", "c", "a"]


def test_a_session_adds_changes_and_forgets_partitions() -> None:
    sessions = FetchSessions(slots=10, random=Random(0))
    session_id = start(sessions, "a", "b")
    context = go_on(sessions, session_id, 1, target("b", offset=7), target("c"), forgotten=("a",))
    assert isinstance(context, FetchContext)
    assert [(each.topic, each.spec.offset) for each in context.targets] == [("b", 7), ("c", 0)]


def test_forgetting_everything_closes_the_session() -> None:
    sessions = FetchSessions(slots=10, random=Random(0))
    session_id = start(sessions, "a")
    context = go_on(sessions, session_id, 1, forgotten=("a",))
    assert isinstance(context, FetchContext)
    assert context.answer([], 1) == (0, [])
    assert go_on(sessions, session_id, 2) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize(
    ("session_id", "epoch", "uses_topic_ids", "error"),
    [
        (1, 1, False, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        (None, 2, False, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (None, 1, True, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR),
    ],
)
def test_session_errors(session_id: int | None, epoch: int, uses_topic_ids: bool, error: ErrorCode) -> None:
    sessions = FetchSessions(slots=10, random=Random(0))
    mine = start(sessions, "a")
    assert sessions.open(session_id or mine, epoch, [], [], uses_topic_ids=uses_topic_ids, now_ms=1) == error


def test_the_final_epoch_closes_and_reads_without_a_session() -> None:
    sessions = FetchSessions(slots=10, random=Random(0))
    session_id = start(sessions, "a")
    context = go_on(sessions, session_id, -1, target("b"))
    assert isinstance(context, FetchContext)
    assert context.answer([(each, fetched()) for each in context.targets], 1)[0] == 0
    assert len(sessions) == 0


def test_a_full_cache_keeps_young_sessions_and_replaces_stale_ones() -> None:
    sessions = FetchSessions(slots=1, random=Random(0))
    first = start(sessions, "a")
    assert start(sessions, "b", "c", now_ms=1000) == 0
    second = start(sessions, "b", now_ms=EVICTION_MS + 1)
    assert second not in (0, first)
    assert len(sessions) == 1


def test_an_old_session_makes_room_for_a_larger_one_only() -> None:
    sessions = FetchSessions(slots=1, random=Random(0))
    session_id = start(sessions, "a", "b")
    assert isinstance(
        sessions.open(session_id, 1, [], [], uses_topic_ids=False, now_ms=EVICTION_MS), FetchContext
    )
    assert start(sessions, "c", now_ms=EVICTION_MS + 1) == 0
    assert start(sessions, "c", "d", "e", now_ms=EVICTION_MS + 1) != 0


def test_a_follower_makes_no_room_for_consumers_and_finds_some_among_them() -> None:
    sessions = FetchSessions(slots=2, random=Random(0))
    consumer = start(sessions, "a", "b", "c")
    follower = start(sessions, "a", by_follower=True)
    for session_id in (consumer, follower):
        assert isinstance(
            sessions.open(session_id, 1, [], [], uses_topic_ids=False, now_ms=EVICTION_MS), FetchContext
        )
    assert start(sessions, "d", by_follower=True, now_ms=EVICTION_MS + 1) != 0
    assert isinstance(go_on(sessions, follower, 2), FetchContext)
    assert go_on(sessions, consumer, 2) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert start(sessions, "e", "f", now_ms=EVICTION_MS + 1) == 0


def test_epochs_wrap_past_the_values_with_a_meaning() -> None:
    assert next_epoch(1) == 2
    assert next_epoch(2**31 - 1) == 1


def test_the_ids_of_evicted_sessions_are_remembered_for_the_log() -> None:
    sessions = FetchSessions(slots=1, random=Random(0))
    evicted = start(sessions, "a")
    assert not sessions.was_evicted(evicted)
    current = start(sessions, "a", now_ms=EVICTION_MS + 1)
    assert sessions.was_evicted(evicted)
    assert not sessions.was_evicted(current)
