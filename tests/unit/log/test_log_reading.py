"""Reads of a log by offset, and offsets by time."""

from __future__ import annotations

from typing import Any

from kcompat.log.append import BY_COORDINATOR
from kcompat.records.batch import build_batch, read_header
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from kcompat.records.record import Record
from support.log_harness import LAST_EPOCH, make_batch


def records(*timestamps: int, **options: Any) -> memoryview:
    return memoryview(build_batch([Record(0, time, None, b"v", ()) for time in timestamps], **options))


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
        harness.log.append_as_follower(batch, leader_epoch=LAST_EPOCH, now_ms=1)
    assert harness.log.local.segments.base_offsets == [0, 10, 20]
    assert harness.offsets(5) == [(10, 10), (20, 20)]
    assert harness.log.read(5, 1 << 20, 10) is None


def test_what_was_aborted_in_the_next_segment_is_told_where_offsets_are_missing_before_it(
    make_harness: Any,
) -> None:
    harness = make_harness(segment_bytes=300)
    for base, options in ((0, {"value": b"v" * 200}), (10, {"producer_id": 5, "transactional": True})):
        batch = make_batch(base_offset=base, leader_epoch=0, **options)
        harness.log.append_as_follower(memoryview(batch), leader_epoch=LAST_EPOCH, now_ms=1)
    abort = EndTransactionMarker(ControlType.ABORT, 0)
    marker = memoryview(build_marker(abort, producer_id=5, producer_epoch=-1, timestamp=1, leader_epoch=0))
    harness.log.append_as_leader(marker, read_header(marker), LAST_EPOCH, 1, BY_COORDINATOR)
    assert harness.log.local.segments.base_offsets == [0, 10]
    data = harness.log.read(1, 1 << 20, 12)
    assert read_header(data.read()).base_offset == 10
    assert harness.log.aborted_transactions(1, 12, data) == [(5, 10)]


def test_a_batch_that_does_not_fit_is_not_passed_over(make_harness: Any) -> None:
    """Its reader would go on behind it and never know."""
    harness = make_harness(segment_bytes=150)
    harness.append(3)
    size = harness.log.size
    harness.append(1)
    assert harness.log.local.segments.base_offsets == [0, 3]
    assert harness.log.read(0, size - 1, 4, False) is None
    assert harness.log.read(3, size - 1, 4, False) is not None


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
