"""A follower that is far behind asks for what comes next before it appends what has come."""

from __future__ import annotations

import pytest

from kcompat.log.epochs import UNDEFINED
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.fetch import FetchRequest, FetchResponse
from kcompat.replication.fetch_state import FetcherConfig, Following, Stage
from kcompat.replication.fetcher import FIRST_BACKOFF_MS
from kcompat.replication.follower_session import Asked
from kcompat.replication.next_fetch import ask_ahead, ask_next
from support.follower_pair import EPOCH, Pair, answer, asked
from support.replica_logs import TOPIC, TOPIC_ID, MemoryLog, batch_of

CONFIG = FetcherConfig(partition_max_bytes=5000, behind_max_bytes=9000)
Row = FetchResponse.PartitionData


def behind(config: FetcherConfig = CONFIG, log: MemoryLog | None = None) -> tuple[Following, Asked]:
    """A follower with two records of epoch 0, and what it has asked."""
    following = Following(log or MemoryLog("00"), EPOCH, Stage.FETCHING)
    return following, ask_next(following, config)


def row(*batches: bytes, high_watermark: int) -> Row:
    """An answer with these."""
    return Row(0, high_watermark=high_watermark, records=memoryview(b"".join(batches)))


def test_where_all_is_appended_the_log_end_is_asked_for() -> None:
    assert behind()[1] == Asked(TOPIC_ID, 2, 0, EPOCH, 0, 5000)


def test_who_is_far_behind_asks_for_more_from_behind_what_has_come() -> None:
    following, before = behind()
    found = row(batch_of(2, 3), batch_of(3, 4), batch_of(4, 4)[:30], high_watermark=6)
    assert ask_ahead(following, before, found, CONFIG) == Asked(TOPIC_ID, 4, 0, EPOCH, 4, 9000)


def test_towards_old_brokers_no_epoch_is_named() -> None:
    config = FetcherConfig(truncates_on_fetch=False)
    following, before = behind(config)
    ahead = ask_ahead(following, before, row(batch_of(2, 3), high_watermark=6), config)
    assert ahead is not None
    assert (ahead.offset, ahead.last_fetched_epoch) == (3, UNDEFINED)


@pytest.mark.parametrize(
    ("high_watermark", "expected"), [(0, False), (2, False), (3, False), (4, False), (5, False), (6, True)]
)
def test_the_high_watermark_is_as_far_ahead_again_at_the_least(high_watermark: int, expected: bool) -> None:
    following, before = behind()
    found = row(batch_of(2, 3), batch_of(3, 3), high_watermark=high_watermark)
    assert (ask_ahead(following, before, found, CONFIG) is not None) is expected


def test_what_will_not_be_appended_is_not_counted() -> None:
    following, before = behind()
    found = row(batch_of(2, EPOCH), batch_of(3, EPOCH + 1), high_watermark=50)
    ahead = ask_ahead(following, before, found, CONFIG)
    assert ahead is not None
    assert (ahead.offset, ahead.last_fetched_epoch) == (3, EPOCH)
    found = row(batch_of(2, EPOCH + 1), high_watermark=50)
    assert ask_ahead(following, before, found, CONFIG) is None


def test_an_answer_without_whole_batches_leads_nowhere() -> None:
    following, before = behind()
    assert ask_ahead(following, before, row(batch_of(2, 3)[:-1], high_watermark=50), CONFIG) is None
    assert ask_ahead(following, before, Row(0, high_watermark=50), CONFIG) is None


def test_old_formats_do_not_tell_how_far_they_go() -> None:
    following, before = behind()
    old = bytearray(batch_of(3, 3))
    old[16] = 1
    assert ask_ahead(following, before, row(batch_of(2, 3), bytes(old), high_watermark=50), CONFIG) is None


def test_a_log_that_is_throttled_waits() -> None:
    log = MemoryLog("00")
    log.holds = True
    following, before = behind(log=log)
    assert ask_ahead(following, before, row(batch_of(2, 3), high_watermark=50), CONFIG) is None


def pair() -> Pair:
    """A follower with nothing, and a leader that has committed ten records and sends two at a time."""
    return Pair(MemoryLog(), leads=[MemoryLog("0000000000", high_watermark=10)])


def first(pair: Pair) -> None:
    """The first answer of the leader."""
    pair.ask()
    pair.answer(answer(row(batch_of(0, 0), batch_of(1, 0), high_watermark=10)))


def test_the_next_request_is_made_before_what_has_come_is_appended() -> None:
    found = pair()
    found.ask()
    fetcher, (log,) = found.fetcher, found.logs
    fetcher.answered(answer(row(batch_of(0, 0), batch_of(1, 0), high_watermark=10)), found.now_ms)
    fetcher.check_invariants()
    assert (log.written, fetcher.has_rest) == ("", True)
    request = fetcher.next(found.now_ms)
    assert isinstance(request, FetchRequest)
    assert (request.session_id, request.session_epoch, asked(request)) == (7, 1, [(0, 2)])
    assert request.topics[0].partitions[0].log_start_offset == 0
    fetcher.append_rest(found.now_ms)
    fetcher.check_invariants()
    assert (log.written, log.high_watermark, fetcher.lag((TOPIC, 0)), fetcher.has_rest) == ("00", 2, 8, False)
    fetcher.answered(answer(row(batch_of(2, 0), batch_of(3, 0), high_watermark=4)), found.now_ms)
    assert (log.written, fetcher.has_rest) == ("0000", False)


def test_the_early_answer_counts_for_nothing_where_the_disk_has_failed() -> None:
    found = pair()
    (log,) = found.logs
    log.has_failed = True
    first(found)
    assert asked(found.ask()) == [(0, 2)]
    log.has_failed = False
    found.answer(answer(row(batch_of(2, 0), high_watermark=10)))
    assert (log.written, found.fetcher.failed) == ("", {(TOPIC, 0)})


class DamagedOnTheWay(MemoryLog):
    """Finds that its first append is damaged."""

    is_damaged = True

    def append(self, records: memoryview, leader_epoch: int) -> ErrorCode:
        if self.is_damaged:
            self.is_damaged = False
            return ErrorCode.CORRUPT_MESSAGE
        return super().append(records, leader_epoch)


def test_what_was_damaged_is_asked_for_again_whatever_the_early_answer_says() -> None:
    found = Pair(DamagedOnTheWay(), leads=[MemoryLog("0000000000", high_watermark=10)])
    (log,) = found.logs
    first(found)
    assert asked(found.ask()) == [(0, 2)]
    found.answer(answer(row(batch_of(2, 0), high_watermark=10)))
    assert log.written == ""
    found.now_ms += FIRST_BACKOFF_MS
    assert asked(found.ask()) == [(0, 0)]


def test_what_has_come_is_appended_though_the_leader_is_not_reached_any_more() -> None:
    found = pair()
    found.ask()
    fetcher, (log,) = found.fetcher, found.logs
    fetcher.answered(answer(row(batch_of(0, 0), batch_of(1, 0), high_watermark=10)), found.now_ms)
    request = fetcher.next(found.now_ms)
    assert request is not None
    found.fail(request)
    fetcher.append_rest(found.now_ms)
    fetcher.check_invariants()
    assert log.written == "00"
    assert found.ask() is None
    found.now_ms += FIRST_BACKOFF_MS
    assert asked(found.ask()) == [(0, 2)]


def test_a_role_that_comes_meanwhile_is_asked_in() -> None:
    found = pair()
    first(found)
    assert asked(found.ask()) == [(0, 2)]
    found.fetcher.follow(found.logs[0], EPOCH + 1)
    found.answer(answer(row(batch_of(2, 0), high_watermark=10)))
    assert found.logs[0].written == "00"
    request = found.ask()
    assert isinstance(request, FetchRequest)
    assert [(each.fetch_offset, each.current_leader_epoch) for each in request.topics[0].partitions] == [
        (2, EPOCH + 1)
    ]


def test_only_those_that_are_far_behind_wait_for_the_next_request() -> None:
    logs = [MemoryLog(index=index) for index in range(2)]
    found = Pair(*logs, leads=[MemoryLog("0000", index=index) for index in range(2)])
    found.ask()
    near = Row(1, high_watermark=1, records=memoryview(batch_of(0, 0)))
    found.fetcher.answered(answer(row(batch_of(0, 0), high_watermark=4), near), found.now_ms)
    found.fetcher.check_invariants()
    assert [log.written for log in logs] == ["", "0"]
    assert asked(found.fetcher.next(found.now_ms)) == [(0, 1), (1, 1)]
    found.fetcher.append_rest(found.now_ms)
    assert [log.written for log in logs] == ["0", "0"]
