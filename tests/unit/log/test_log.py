from __future__ import annotations

import errno
from typing import Any

import pytest

from kcompat.log.errors import StorageError
from kcompat.log.producers import AppendOrigin
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import build_batch, crc_matches, iter_headers, read_header
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from kcompat.records.record import Record
from support.faulty_files import FaultyFiles
from support.log_harness import make_batch


def records(*timestamps: int, **options: Any) -> memoryview:
    return memoryview(build_batch([Record(0, time, None, b"v", ()) for time in timestamps], **options))


# -- appending -----------------------------------------------------------------------------------------------


def test_an_append_gets_the_next_offsets_and_the_epoch_in_the_stored_bytes(harness: Any) -> None:
    first, second = harness.append(3, epoch=4), harness.append(2, epoch=4)
    assert (first.error, first.base_offset, first.last_offset, first.append_time_ms) == (
        ErrorCode.NONE,
        0,
        2,
        -1,
    )
    assert (second.base_offset, second.last_offset, harness.log.log_end_offset) == (3, 4, 5)
    stored = memoryview(harness.files()["00000000000000000000.log"])
    headers = list(iter_headers(stored))
    assert [(header.base_offset, header.leader_epoch) for _, header in headers] == [(0, 4), (3, 4)]
    assert all(crc_matches(stored, position, header.size) for position, header in headers)
    assert harness.log.size == len(stored)
    harness.log.check_invariants()


def test_log_append_time_stamps_the_batch_and_keeps_its_crc_right(make_harness: Any) -> None:
    harness = make_harness(timestamp_type="LogAppendTime")
    result = harness.append(2, now_ms=5555, timestamp=1000)
    assert result.append_time_ms == 5555
    stored = memoryview(harness.files()["00000000000000000000.log"])
    header = read_header(stored)
    assert (header.max_timestamp, header.uses_log_append_time) == (5555, True)
    assert crc_matches(stored, 0, header.size)
    assert harness.log.offset_for_timestamp(5555).offset == 0
    assert harness.log.offset_for_timestamp(5556) is None


def test_a_batch_larger_than_a_segment_is_refused(make_harness: Any) -> None:
    harness = make_harness(segment_bytes=100)
    assert harness.append(value=bytes(100)).error is ErrorCode.RECORD_LIST_TOO_LARGE
    assert harness.log.log_end_offset == 0


def test_a_repeated_idempotent_batch_answers_with_its_first_offsets(harness: Any) -> None:
    options = {"producer_id": 5, "producer_epoch": 0, "timestamp": 777}
    harness.append(2, base_sequence=0, **options)
    harness.append(1, base_sequence=2, **options)
    again = harness.append(2, base_sequence=0, **options)
    assert (again.error, again.duplicate, again.base_offset, again.last_offset) == (
        ErrorCode.NONE,
        True,
        0,
        1,
    )
    assert again.append_time_ms == 777
    assert harness.append(1, base_sequence=9, **options).error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert harness.log.log_end_offset == 3
    (producer,) = harness.log.producers
    assert (producer.producer_id, producer.last_sequence, producer.last_timestamp) == (5, 2, 777)


def test_transactions_end_in_the_transaction_index(harness: Any) -> None:
    log = harness.log
    harness.append(2, producer_id=5, producer_epoch=0, base_sequence=0, transactional=True)
    assert log.producer_state.first_open_offset == 0
    marker = memoryview(
        build_marker(
            EndTransactionMarker(ControlType.ABORT, 1),
            producer_id=5,
            producer_epoch=0,
            timestamp=1,
            leader_epoch=0,
        )
    )
    assert log.append_as_leader(marker, read_header(marker), 0, 1, AppendOrigin.COORDINATOR).base_offset == 2
    assert log.producer_state.first_open_offset is None
    assert (log.producer_state.last_stable_offset(2), log.producer_state.last_stable_offset(3)) == (0, 3)
    harness.append()
    assert log.aborted_transactions(0, 4) == [(5, 0)]
    assert log.aborted_transactions(3, 4) == []
    data = log.read(0, 1 << 20, 4)
    assert log.aborted_transactions(0, 4, data) == [(5, 0)]
    stale = memoryview(
        build_marker(
            EndTransactionMarker(ControlType.ABORT, 0),
            producer_id=5,
            producer_epoch=0,
            timestamp=1,
            leader_epoch=0,
        )
    )
    refused = log.append_as_leader(stale, read_header(stale), 0, 1, AppendOrigin.COORDINATOR)
    assert refused.error is ErrorCode.TRANSACTION_COORDINATOR_FENCED


@pytest.mark.leaves_gaps("a leader of before had compacted what is missing")
def test_a_follower_takes_the_leaders_bytes_as_they_are(harness: Any, make_harness: Any) -> None:
    leader = b"".join(
        bytes(make_batch(2, base_offset=base, leader_epoch=epoch))
        for base, epoch in [(10, 1), (12, 1), (20, 3)]
    )
    result = harness.log.append_as_follower(memoryview(bytearray(leader + leader[:70])), now_ms=1)
    assert (result.error, result.base_offset, result.last_offset) == (ErrorCode.NONE, 10, 21)
    assert harness.files()["00000000000000000000.log"] == leader
    assert harness.log.end_offset_for_epoch(1) == (1, 20)
    back = harness.log.append_as_follower(memoryview(bytearray(leader)), now_ms=1)
    assert back.error is ErrorCode.OFFSET_OUT_OF_RANGE
    damaged = make_batch(1, base_offset=22, leader_epoch=3)
    damaged[-1] ^= 1
    assert harness.log.append_as_follower(memoryview(damaged), now_ms=1).error is ErrorCode.CORRUPT_MESSAGE
    assert harness.log.log_end_offset == 22
    assert harness.offsets(10) == [(10, 11), (12, 13), (20, 21)]
    harness.log.check_invariants()


def test_epochs_are_stored_before_the_first_batch_of_an_epoch(harness: Any) -> None:
    harness.log.epochs.begin(1, 0)
    assert "leader-epoch-checkpoint" not in harness.files(), "an epoch without a batch"
    harness.append(epoch=1)
    harness.append(epoch=1)
    harness.log.epochs.begin(2, 2)
    assert harness.files()["leader-epoch-checkpoint"] == b"0\n1\n1 0\n"
    assert harness.log.end_offset_for_epoch(2) == (2, 2)
    harness.append(epoch=3)
    assert harness.files()["leader-epoch-checkpoint"] == b"0\n2\n1 0\n3 2\n"
    assert (
        harness.log.epochs.latest,
        harness.log.epochs.epoch_for(1),
        harness.log.epochs.epoch_for(2),
    ) == (3, 1, 3)


def test_leading_again_without_an_append_leaves_the_epochs_file_alone(harness: Any) -> None:
    path = harness.directory / "leader-epoch-checkpoint"
    harness.append(epoch=1)
    harness.log.close(sync=False)
    before = path.stat()
    for epoch in (2, 3):
        harness.reopen(clean=epoch == 2)
        harness.log.epochs.begin(epoch, 1)
        assert harness.log.epochs.latest == epoch
        harness.log.close(sync=False)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    harness.reopen(clean=True)
    harness.append(epoch=4)
    assert path.read_bytes() == b"0\n2\n1 0\n4 1\n"


# -- rolling -------------------------------------------------------------------------------------------------


def test_a_full_segment_rolls(make_harness: Any) -> None:
    size = len(make_batch())
    harness = make_harness(segment_bytes=2 * size)
    for _ in range(5):
        harness.append()
    assert harness.log.local.segments.base_offsets == [0, 2, 4]
    assert harness.offsets() == [(n, n) for n in range(5)]
    names = set(harness.files())
    assert {
        "00000000000000000000.index",
        "00000000000000000000.timeindex",
        "00000000000000000002.snapshot",
    } <= names
    assert harness.files()["00000000000000000000.timeindex"] == bytes.fromhex("00000000000003e8 00000000")
    assert harness.log.recovery_point == 4, "rolled segments are synced"
    harness.log.check_invariants()


def test_a_segment_rolls_by_the_time_of_its_records(make_harness: Any) -> None:
    harness = make_harness(segment_ms=100)
    for timestamp in (1000, 1100, 1101, 900, 1201, 1202):
        harness.append(timestamp=timestamp, now_ms=10**12)
    assert harness.log.local.segments.base_offsets == [0, 2, 5]


def test_without_timestamps_the_clock_rolls(make_harness: Any) -> None:
    harness = make_harness(segment_ms=100)
    for now_ms in (50, 100, 101, 150):
        harness.append(timestamp=-1, now_ms=now_ms)
    assert harness.log.local.segments.base_offsets == [0, 2]


def test_a_full_index_rolls(make_harness: Any) -> None:
    harness = make_harness(segment_index_bytes=36, index_interval_bytes=0)
    for n in range(6):
        harness.append(timestamp=1000 + n)
    assert (
        harness.log.local.segments.base_offsets == [0, 3, 6][: len(harness.log.local.segments.base_offsets)]
    )
    assert len(harness.log.local.segments.base_offsets) > 1


def test_rolling_on_demand_keeps_an_empty_segment(harness: Any) -> None:
    harness.log.roll(0)
    assert harness.log.local.segments.base_offsets == [0]
    harness.append()
    harness.log.roll(0)
    harness.log.roll(0)
    assert harness.log.local.segments.base_offsets == [0, 1]
    assert harness.files()["00000000000000000001.log"] == b""


# -- reading -------------------------------------------------------------------------------------------------


def test_a_read_starts_at_the_batch_that_holds_the_offset(harness: Any) -> None:
    for _ in range(4):
        harness.append(3)
    size = harness.log.size // 4
    for offset in range(12):
        data = harness.log.read(offset, 1 << 20, 12)
        assert (data.position, len(data)) == (offset // 3 * size, (4 - offset // 3) * size)
    assert harness.log.read(12, 1 << 20, 12) is None


def test_a_read_is_cut_by_bytes_and_by_the_upper_offset(harness: Any) -> None:
    for _ in range(4):
        harness.append(3)
    size = harness.log.size // 4
    assert len(harness.log.read(0, size + 10, 12)) == size + 10, "inside a batch, as Kafka does"
    assert len(harness.log.read(0, 10, 12)) == size, "but the first batch whole"
    assert harness.log.read(0, size - 1, 12, False) is None, "or not at all"
    assert harness.log.read(0, 0, 12, False) is None
    assert len(harness.log.read(3, 1 << 20, 9)) == 2 * size
    assert len(harness.log.read(3, 1 << 20, 10)) == 2 * size, "no batch that reaches beyond the upper offset"
    assert harness.log.read(9, 1 << 20, 9) is None


def test_reads_far_behind_the_tail_use_the_index(make_harness: Any) -> None:
    harness = make_harness(index_interval_bytes=500)
    for n in range(3000):
        harness.append(timestamp=1000 + n)
    size = harness.log.size // 3000
    for offset in (0, 1, 7, 500, 1023, 1024, 2047, 2500, 2999):
        data = harness.log.read(offset, size, 3000)
        assert read_header(data.read()).base_offset == offset
        assert harness.log.read(offset, 1 << 20, offset + 1).length == size
        assert harness.log.offset_for_timestamp(1000 + offset).offset == offset


def test_a_read_goes_on_in_the_next_segment_where_offsets_are_missing(make_harness: Any) -> None:
    harness = make_harness(segment_bytes=150)
    for base in (0, 10, 20):
        batch = memoryview(make_batch(1, base_offset=base, leader_epoch=0))
        harness.log.append_as_follower(batch, 1)
    assert harness.log.local.segments.base_offsets == [0, 10, 20]
    assert harness.offsets(5) == [(10, 10), (20, 20)]
    assert harness.log.read(5, 1 << 20, 10) is None


def test_a_range_outlives_the_deletion_of_its_segment(make_harness: Any) -> None:
    harness = make_harness(segment_bytes=150, retention_ms=0)
    for _ in range(3):
        harness.append()
    data = harness.log.read(0, 1 << 20, 3)
    stored = data.read()
    assert harness.log.delete_old_segments(10**12, 3) == 3
    assert data.read() == stored
    assert harness.log.log_start_offset == harness.log.log_end_offset == 3


# -- by time -------------------------------------------------------------------------------------------------


def test_offsets_by_time_are_those_of_records(make_harness: Any) -> None:
    harness = make_harness(segment_bytes=200)
    for times in [(100, 150, 120), (90,), (200, 300), (250,)]:
        batch = records(*times)
        harness.log.append_as_leader(batch, read_header(batch), 2, 1)
    find = harness.log.offset_for_timestamp
    found = {
        time: find(time) and (find(time).offset, find(time).timestamp) for time in (0, 101, 151, 201, 301)
    }
    assert found == {0: (0, 100), 101: (1, 150), 151: (4, 200), 201: (5, 300), 301: None}
    assert find(0).leader_epoch == 2
    newest = harness.log.max_timestamp_offset()
    assert (newest.offset, newest.timestamp) == (5, 300)
    harness.log.delete_records_before(1)
    assert find(0).offset == 1, "not below the log start"


def test_a_log_without_timestamps_has_no_newest_record(harness: Any) -> None:
    assert harness.log.max_timestamp_offset() is None
    harness.append(timestamp=-1)
    assert harness.log.max_timestamp_offset() is None
    assert harness.log.offset_for_timestamp(0) is None


# -- retention -----------------------------------------------------------------------------------------------


def test_retention_by_time_stops_at_the_high_watermark_and_the_first_young_segment(make_harness: Any) -> None:
    harness = make_harness(segment_bytes=150, retention_ms=100)
    for timestamp in (1000, 1010, 1300, 1020):
        harness.append(timestamp=timestamp)
    assert harness.log.delete_old_segments(1105, high_watermark=0) == 0
    assert harness.log.delete_old_segments(1105, high_watermark=4) == 1
    assert harness.log.delete_old_segments(1200, high_watermark=4) == 1, "1300 is young and keeps 1020"
    assert harness.log.local.segments.base_offsets == [2, 3]
    assert harness.log.log_start_offset == 2
    assert harness.log.delete_old_segments(9999, high_watermark=4) == 2
    assert harness.log.local.segments.base_offsets == [4]
    assert (harness.log.size, harness.log.log_end_offset) == (0, 4)
    assert harness.log.delete_old_segments(10**15, high_watermark=4) == 0, "an empty segment stays"
    harness.log.check_invariants()
    assert harness.reopen().log_end_offset == 4


@pytest.mark.parametrize(("retention_bytes", "left"), [(4, 2), (5, 3), (6, 3)])
def test_retention_by_size_leaves_at_least_that_much(
    make_harness: Any, retention_bytes: int, left: int
) -> None:
    """`retention.bytes` in halves of a segment."""
    size = len(make_batch())
    harness = make_harness(segment_bytes=size, retention_bytes=retention_bytes * size // 2, retention_ms=-1)
    for _ in range(5):
        harness.append()
    assert harness.log.delete_old_segments(10**15, 5) == 5 - left
    assert harness.log.size == left * size


def test_compact_only_topics_lose_only_what_lies_below_the_log_start(make_harness: Any) -> None:
    harness = make_harness(
        segment_bytes=150, retention_ms=0, retention_bytes=0, cleanup_policy=frozenset({"compact"})
    )
    for _ in range(4):
        harness.append()
    assert harness.log.delete_old_segments(10**15, 4) == 0
    harness.log.delete_records_before(2)
    assert harness.log.delete_old_segments(10**15, 4) == 2
    assert harness.log.local.segments.base_offsets == [2, 3]


# -- truncation ----------------------------------------------------------------------------------------------


def test_truncation_cuts_at_the_batch_that_holds_the_offset(make_harness: Any) -> None:
    harness = make_harness(segment_bytes=300)
    for n in range(8):
        harness.append(2, epoch=n // 3, timestamp=1000 + n)
    assert harness.log.truncate_to(9)
    assert harness.log.log_end_offset == 9
    assert harness.offsets() == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert harness.log.epochs.latest == 1
    assert harness.log.max_timestamp_offset().timestamp == 1003
    harness.append(1, epoch=5)
    assert harness.offsets() == [(0, 1), (2, 3), (4, 5), (6, 7), (9, 9)]
    harness.log.check_invariants()


def test_truncation_at_or_past_the_end_still_cleans_the_epochs(harness: Any) -> None:
    harness.append()
    harness.log.epochs.begin(9, 1)
    assert not harness.log.truncate_to(1)
    assert harness.log.epochs.latest == 0


def test_truncation_restores_producer_state(make_harness: Any) -> None:
    harness = make_harness(segment_bytes=200)
    for n in range(6):
        harness.append(producer_id=5, producer_epoch=0, base_sequence=n)
    harness.log.truncate_to(3)
    (producer,) = harness.log.producers
    assert producer.last_sequence == 2
    assert harness.append(producer_id=5, producer_epoch=0, base_sequence=3).base_offset == 3
    harness.log.check_invariants()


def test_truncation_below_the_first_segment_starts_anew(make_harness: Any) -> None:
    harness = make_harness(segment_bytes=150)
    for _ in range(3):
        harness.append(epoch=1)
    harness.log.truncate_fully_and_start_at(100)
    assert (harness.log.log_start_offset, harness.log.log_end_offset, harness.log.epochs.latest) == (
        100,
        100,
        -1,
    )
    assert harness.append(epoch=2).base_offset == 100
    assert harness.log.truncate_to(50)
    assert (harness.log.log_start_offset, harness.log.log_end_offset) == (50, 50)
    harness.log.check_invariants()
    assert harness.reopen().log_end_offset == 50


def test_deleting_records_moves_the_start_and_the_epochs(harness: Any) -> None:
    for n in range(4):
        harness.append(epoch=n)
    harness.log.delete_records_before(2)
    assert harness.log.log_start_offset == 2
    assert harness.files()["leader-epoch-checkpoint"] == b"0\n2\n2 2\n3 3\n"
    harness.log.delete_records_before(1)
    assert harness.log.log_start_offset == 2, "it never goes back"


# -- flushing ------------------------------------------------------------------------------------------------


def test_flush_messages_syncs_every_so_many_records(make_harness: Any) -> None:
    files = FaultyFiles()
    harness = make_harness(files, flush_messages=3)
    points = []
    for _ in range(7):
        harness.append()
        points.append(harness.log.recovery_point)
    assert points == [0, 0, 3, 3, 3, 6, 6]
    assert files.syncs == 2


def test_flush_ms_is_obeyed_by_the_scheduler(make_harness: Any) -> None:
    harness = make_harness(flush_ms=100)
    harness.append()
    harness.log.durability.flush_if_due(harness.log, 99)
    assert harness.log.recovery_point == 0
    harness.log.durability.flush_if_due(harness.log, 100)
    assert harness.log.recovery_point == 1


# -- faults --------------------------------------------------------------------------------------------------


def test_short_writes_are_completed(make_harness: Any) -> None:
    files = FaultyFiles()
    harness = make_harness(files)
    files.limit = 7
    harness.append(3)
    harness.append(2)
    assert harness.offsets() == [(0, 2), (3, 4)]


@pytest.mark.parametrize("written", [0, 1, 60, 80])
def test_a_full_disk_passes_and_nothing_half_written_stays(make_harness: Any, written: int) -> None:
    files = FaultyFiles()
    harness = make_harness(files)
    harness.append()
    before = harness.files()
    files.fault, files.before_fault = OSError(errno.ENOSPC, "No space left on device"), written
    with pytest.raises(StorageError):
        harness.append()
    assert harness.files() == before
    assert (harness.log.log_end_offset, harness.log.is_failed) == (1, False)
    assert harness.append().base_offset == 1
    assert harness.offsets() == [(0, 0), (1, 1)]


def test_any_other_fault_takes_the_directory_offline(make_harness: Any) -> None:
    files = FaultyFiles()
    harness = make_harness(files)
    harness.append()
    files.fault = OSError(errno.EIO, "Input/output error")
    with pytest.raises(StorageError) as caught:
        harness.append()
    assert caught.value.directory == harness.context.path
    assert harness.context.offline is caught.value
    assert harness.log.is_failed
    with pytest.raises(StorageError):
        harness.append()


def test_a_closed_log_takes_no_more(harness: Any) -> None:
    harness.append()
    harness.log.close()
    with pytest.raises(StorageError):
        harness.append()


def test_preallocated_segments_are_trimmed_when_they_are_done(make_harness: Any) -> None:
    harness = make_harness(preallocate=True, segment_bytes=4096)
    harness.append()
    assert len(harness.files()["00000000000000000000.log"]) == 4096
    harness.log.roll(0)
    assert len(harness.files()["00000000000000000000.log"]) == len(make_batch())
    harness.append()
    harness.log.close()
    assert len(harness.files()["00000000000000000001.log"]) == len(make_batch())
