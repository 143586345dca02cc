"""Appends to a log: the stored bytes, and the beginnings of new segments."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.log.append import BY_COORDINATOR
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import crc_matches, iter_headers, read_header
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from support.log_harness import LAST_EPOCH, make_batch

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
    assert log.append_as_leader(marker, read_header(marker), 0, 1, BY_COORDINATOR).base_offset == 2
    assert log.producer_state.first_open_offset is None
    assert [log.producer_state.last_stable_offset(0, mark) for mark in (2, 3)] == [0, 3]
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
    refused = log.append_as_leader(stale, read_header(stale), 0, 1, BY_COORDINATOR)
    assert refused.error is ErrorCode.TRANSACTION_COORDINATOR_FENCED


@pytest.mark.leaves_gaps("a leader of before had compacted what is missing")
def test_a_follower_takes_the_leaders_bytes_as_they_are(harness: Any, make_harness: Any) -> None:
    leader = b"".join(
        bytes(make_batch(2, base_offset=base, leader_epoch=epoch))
        for base, epoch in [(10, 1), (12, 1), (20, 3)]
    )
    result = harness.log.append_as_follower(
        memoryview(bytearray(leader + leader[:70])), leader_epoch=LAST_EPOCH, now_ms=1
    )
    assert (result.error, result.base_offset, result.last_offset) == (ErrorCode.NONE, 10, 21)
    assert harness.files()["00000000000000000000.log"] == leader
    assert harness.log.end_offset_for_epoch(1) == (1, 20)
    back = harness.log.append_as_follower(memoryview(bytearray(leader)), leader_epoch=LAST_EPOCH, now_ms=1)
    assert back.error is ErrorCode.OFFSET_OUT_OF_RANGE
    damaged = make_batch(1, base_offset=22, leader_epoch=3)
    damaged[-1] ^= 1
    assert (
        harness.log.append_as_follower(memoryview(damaged), leader_epoch=LAST_EPOCH, now_ms=1).error
        is ErrorCode.CORRUPT_MESSAGE
    )
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
