"""Records that a log loses: old segments by retention, its end by truncation, its beginning by deletion."""

from __future__ import annotations

from typing import Any

import pytest

from support.log_harness import make_batch

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


def test_truncation_to_nothing_forgets_when_the_segment_began(make_harness: Any) -> None:
    harness = make_harness(segment_ms=100)
    harness.append(timestamp=1000)
    harness.log.truncate_to(0)
    for timestamp in (5000, 5100):
        harness.append(timestamp=timestamp)
    assert harness.log.local.segments.base_offsets == [0]
    harness.append(timestamp=5101)
    assert harness.log.local.segments.base_offsets == [0, 2]


def test_deleting_records_moves_the_start_and_the_epochs(harness: Any) -> None:
    for n in range(4):
        harness.append(epoch=n)
    harness.log.delete_records_before(2)
    assert harness.log.log_start_offset == 2
    assert harness.files()["leader-epoch-checkpoint"] == b"0\n2\n2 2\n3 3\n"
    harness.log.delete_records_before(1)
    assert harness.log.log_start_offset == 2, "it never goes back"
