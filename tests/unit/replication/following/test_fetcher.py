"""The machine that follows a leader: what it asks, when, and what it does with the answers."""

from __future__ import annotations

import errno

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.fetch import FetchRequest, FetchResponse
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kcompat.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kcompat.replication.following.fetcher import FIRST_BACKOFF_MS
from support.default_settings import fetcher_settings
from support.follower_pair import BROKER_EPOCH, EPOCH, ME, NOW, Pair, answer, asked, one
from support.replica_logs import TOPIC, TOPIC_ID, MemoryLog, batch_of


def test_the_first_fetch_says_who_asks_and_what_it_has() -> None:
    request = one().ask()
    assert isinstance(request, FetchRequest)
    assert request.replica_state == FetchRequest.ReplicaState(ME, BROKER_EPOCH)
    assert (request.session_id, request.session_epoch) == (0, 0)
    assert (request.max_wait_ms, request.min_bytes, request.max_bytes) == (500, 1, 10 << 20)
    (topic,) = request.topics
    assert (topic.topic, topic.topic_id) == (TOPIC, TOPIC_ID)
    (row,) = topic.partitions
    assert (row.partition, row.fetch_offset, row.log_start_offset) == (0, 2, 0)
    assert (row.current_leader_epoch, row.last_fetched_epoch, row.partition_max_bytes) == (EPOCH, 0, 1 << 20)


def test_the_second_fetch_names_what_has_changed_and_no_more() -> None:
    logs = [MemoryLog("0", index=index) for index in range(3)]
    pair = Pair(*logs, leads=[MemoryLog("0011" if index == 1 else "0", index=index) for index in range(3)])
    assert asked(pair.step()) == [(0, 1), (1, 1), (2, 1)]
    request = pair.step()
    assert isinstance(request, FetchRequest)
    assert (request.session_id, request.session_epoch) == (7, 1)
    assert asked(request) == [(1, 4)]
    assert asked(pair.step()) == []


def test_records_the_high_watermark_and_the_log_start_are_taken_in_this_order() -> None:
    pair = one("", "0011", high_watermark=3)
    pair.leader.logs[0].log_start_offset = 0
    pair.step()
    (log,) = pair.logs
    assert (log.written, log.high_watermark, pair.fetcher.lag((TOPIC, 0))) == ("0011", 3, 0)


def test_how_far_it_is_behind() -> None:
    pair = one("", "")
    assert pair.fetcher.lag((TOPIC, 0)) == -1
    pair.ask()
    records = memoryview(batch_of(0, 9))
    pair.answer(
        answer(FetchResponse.PartitionData(0, high_watermark=10, log_start_offset=0, records=records))
    )
    assert pair.fetcher.lag((TOPIC, 0)) == 9
    assert pair.fetcher.lag((TOPIC, 1)) is None


def test_more_is_asked_for_at_once_of_what_is_behind() -> None:
    pair = one("", "")
    limits = []
    for offset, high_watermark in ((0, 0), (1, 1), (2, 9), (3, 4)):
        request = pair.ask()
        assert isinstance(request, FetchRequest)
        limits += [row.partition_max_bytes for row in request.topics[0].partitions]
        records = memoryview(batch_of(offset, EPOCH))
        pair.answer(answer(FetchResponse.PartitionData(0, high_watermark=high_watermark, records=records)))
    assert limits == [1 << 20, 1 << 20, 1 << 20, 4 << 20]
    request = pair.ask()
    assert isinstance(request, FetchRequest)
    assert [row.partition_max_bytes for row in request.topics[0].partitions] == [1 << 20]


def test_a_log_that_parts_is_cut_before_anything_else_of_the_answer_is_taken() -> None:
    """The fault was once Kafka's own (KAFKA-14704)."""
    pair = one("0011", "00")
    pair.ask()
    row = FetchResponse.PartitionData(0, high_watermark=4, log_start_offset=2)
    row.diverging_epoch = FetchResponse.EpochEndOffset(0, 2)
    row.records = memoryview(batch_of(4, 9))
    pair.answer(answer(row))
    (log,) = pair.logs
    assert (log.written, log.high_watermark, log.log_start_offset) == ("00", 0, 0)
    assert asked(pair.ask()) == [(0, 2)]


def test_records_of_a_later_epoch_than_was_asked_in_are_left_out() -> None:
    """KAFKA-18723: the leader may have been cut and written to while its answer was on the way."""
    pair = one("0", "0")
    pair.ask()
    records = memoryview(batch_of(1, EPOCH) + batch_of(2, EPOCH + 1))
    pair.answer(answer(FetchResponse.PartitionData(0, high_watermark=1, records=records)))
    assert pair.logs[0].written == "09"


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.KAFKA_STORAGE_ERROR,
    ],
)
def test_what_may_pass_is_asked_again_after_pauses_that_grow(error: ErrorCode) -> None:
    pair = one()
    pair.leader.errors[0] = error
    pauses = []
    for _ in range(9):
        assert pair.step() is not None
        pair.ask()
        due_ms = pair.fetcher.due_ms()
        assert due_ms is not None
        pauses.append(due_ms - pair.now_ms)
        pair.now_ms = due_ms - 1
        assert not isinstance(pair.ask(), FetchRequest) or asked(pair.fetcher.next(pair.now_ms)) == []
        pair.now_ms = due_ms
    assert pauses == [FIRST_BACKOFF_MS << step for step in range(6)] + [1000, 1000, 1000]
    del pair.leader.errors[0]
    pair.step()
    assert pair.logs[0].written == "0011"
    pair.leader.errors[0] = error
    pair.step()
    assert pair.fetcher.due_ms() == pair.now_ms + FIRST_BACKOFF_MS, "it has been well since"


def test_the_others_go_on_meanwhile() -> None:
    logs = [MemoryLog("0", index=index) for index in range(2)]
    pair = Pair(*logs, leads=[MemoryLog("00", index=index) for index in range(2)])
    pair.leader.errors[0] = ErrorCode.UNKNOWN_LEADER_EPOCH
    pair.step()
    request = pair.step()
    assert isinstance(request, FetchRequest)
    assert asked(request) == [(1, 2)]
    assert [row.partitions for row in request.forgotten_topics_data] == [[0]]
    pair.now_ms += FIRST_BACKOFF_MS
    assert asked(pair.step()) == [(0, 1)]


def test_who_is_fenced_waits_for_its_next_role() -> None:
    pair = one()
    pair.leader.leader_epoch = EPOCH + 1
    pair.step()
    assert pair.fetcher.failed == {(TOPIC, 0)}
    pair.now_ms += 10_000
    pair.step()
    assert pair.ask() is None
    assert not pair.fetcher.is_idle
    pair.fetcher.follow(pair.logs[0], EPOCH + 1)
    pair.leader.errors.clear()
    pair.step()
    assert pair.logs[0].written == "0011"
    pair.fetcher.forget((TOPIC, 0))
    assert pair.fetcher.is_idle


def test_a_failed_disk_ends_it() -> None:
    pair = one()
    pair.logs[0].fault = OSError(errno.EIO, "Input/output error")
    pair.step()
    assert pair.fetcher.failed == {(TOPIC, 0)}


def test_a_full_disk_may_have_room_after_a_pause() -> None:
    pair = one()
    pair.logs[0].fault = OSError(errno.ENOSPC, "No space left on device")
    for pause_ms in (FIRST_BACKOFF_MS, 2 * FIRST_BACKOFF_MS):
        pair.step()
        assert pair.fetcher.due_ms() == pair.now_ms + pause_ms
        pair.now_ms += pause_ms
    pair.logs[0].fault = None
    pair.step()
    assert pair.logs[0].written == "0011"


def test_records_that_do_not_fit_end_it() -> None:
    pair = one("0", "0")
    pair.ask()
    pair.answer(answer(FetchResponse.PartitionData(0, records=memoryview(batch_of(5, EPOCH)))))
    assert pair.fetcher.failed == {(TOPIC, 0)}


def test_a_bug_costs_the_partition_that_met_it(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(MemoryLog):
        def update_bounds(self, high_watermark: int, log_start_offset: int) -> None:
            raise ZeroDivisionError

    pair = Pair(Broken(), MemoryLog(index=1), leads=[MemoryLog("0"), MemoryLog("0", index=1)])
    pair.step()
    assert pair.fetcher.failed == {(TOPIC, 0)}
    assert pair.logs[1].written == "0"
    assert "ZeroDivisionError" in caplog.text


# -- offsets that the leader does not have ---------------------------------------------------------------


def test_a_leader_whose_log_starts_later_is_followed_from_there() -> None:
    pair = one("00", "11", start=5)
    asked_in_turn = [type(pair.step()) for _ in range(4)]
    assert asked_in_turn == [FetchRequest, ListOffsetsRequest, ListOffsetsRequest, FetchRequest]
    (log,) = pair.logs
    assert (log.log_start_offset, log.written, log.cuts) == (5, "11", [5])


def test_a_leader_whose_log_ends_earlier_is_followed_from_there() -> None:
    """As after an unclean election, where epochs cannot tell."""
    pair = one("000", "00")
    pair.logs[0].cache.clear()
    pair.fetcher.follow(pair.logs[0], EPOCH)
    pair.logs[0].records = [0, 0, 0]
    pair.logs[0].cache.assign(7, 0)
    pair.leader.logs[0].cache.clear()
    pair.fetcher.follow(pair.logs[0], EPOCH)
    assert [type(pair.step()) for _ in range(2)] == [FetchRequest, ListOffsetsRequest]
    assert pair.logs[0].cuts[-1] == 2


def test_an_offset_that_is_there_after_all_is_asked_for_again_after_a_pause() -> None:
    pair = one("00", "00")
    pair.leader.errors[0] = ErrorCode.OFFSET_OUT_OF_RANGE
    assert isinstance(pair.step(), FetchRequest)
    pair.leader.errors.clear()
    for _ in range(2):
        assert isinstance(pair.step(), ListOffsetsRequest)
    pair.leader.errors[0] = ErrorCode.OFFSET_OUT_OF_RANGE
    assert isinstance(pair.step(), FetchRequest), "at once"
    pair.leader.errors.clear()
    assert pair.fetcher.due_ms() == NOW + (FIRST_BACKOFF_MS << 1), "but no third time"
    assert pair.logs[0].cuts == []


def test_questions_about_offsets_are_refused_and_fail_like_others() -> None:
    pair = one("00", "11", start=5)
    pair.step()
    request = pair.ask()
    assert isinstance(request, ListOffsetsRequest)
    pair.fail(request)
    assert pair.fetcher.due_ms() is not None
    pair.now_ms += 1000
    pair.leader.errors[0] = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert isinstance(pair.step(), ListOffsetsRequest)
    assert pair.fetcher.due_ms() is not None
    pair.leader.errors.clear()
    pair.now_ms += 1000
    for _ in range(3):
        pair.step()
    assert pair.logs[0].written == "11"


def test_an_answer_for_another_epoch_is_not_for_now() -> None:
    pair = one("00", "11", start=5)
    pair.step()
    request = pair.ask()
    assert isinstance(request, ListOffsetsRequest)
    response = pair.leader.answer(request)
    assert isinstance(response, ListOffsetsResponse)
    pair.fetcher.follow(pair.logs[0], EPOCH + 1)
    pair.answer(response)
    assert pair.logs[0].cuts == []
    assert isinstance(pair.ask(), FetchRequest)


# -- old brokers -----------------------------------------------------------------------------------------


def old_pair() -> Pair:
    config = fetcher_settings(truncates_on_fetch=False)
    return Pair(MemoryLog("0011"), leads=[MemoryLog("002")], config=config)


def test_old_brokers_are_asked_for_epochs_first() -> None:
    pair = old_pair()
    request = pair.step()
    assert isinstance(request, OffsetForLeaderEpochRequest)
    (row,) = request.topics[0].partitions
    assert (request.replica_id, row.current_leader_epoch, row.leader_epoch) == (ME, EPOCH, 1)
    assert asked(pair.step()) == [(0, 2)]
    assert pair.logs[0].written == "002"


def test_an_answer_about_epochs_that_was_asked_in_another_epoch_is_not_for_now() -> None:
    pair = old_pair()
    request = pair.ask()
    assert isinstance(request, OffsetForLeaderEpochRequest)
    pair.fetcher.follow(pair.logs[0], EPOCH + 1)
    pair.answer(pair.leader.answer(request))
    assert pair.logs[0].cuts == []
    assert isinstance(pair.ask(), OffsetForLeaderEpochRequest)


def test_epochs_are_asked_for_again_after_an_error() -> None:
    pair = old_pair()
    pair.leader.errors[0] = ErrorCode.NOT_LEADER_OR_FOLLOWER
    pair.step()
    assert pair.ask() is None
    assert pair.fetcher.due_ms() == NOW + FIRST_BACKOFF_MS
    pair.now_ms += FIRST_BACKOFF_MS
    request = pair.ask()
    assert isinstance(request, OffsetForLeaderEpochRequest)
    pair.fail(request)
    pair.leader.errors.clear()
    pair.now_ms += 1000
    pair.step()
    assert asked(pair.step()) == [(0, 2)]


def test_a_broker_that_knows_no_such_epoch_leaves_the_high_watermark_to_go_by() -> None:
    pair = old_pair()
    pair.logs[0].high_watermark = 3
    pair.leader.logs[0].cache.clear()
    pair.step()
    assert pair.logs[0].cuts == [3]
