"""The batches that remain of a cleaned log (KIP-58, KIP-98, KIP-534)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat.log.cleaner.job import Damaged
from kcompat.records.compression import Codec
from kcompat.records.control import ControlType, read_marker
from kcompat.records.conversion import encode_wrapper
from kcompat.records.layout import DELETE_HORIZON_FLAG, NO_TIMESTAMP
from kcompat.records.message_set import encode_message, read_messages
from support.compaction import CompactionHarness
from support.default_settings import log_settings

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.records.batch import BatchHeader

RETENTION = 500


def harness_with(path: Path, **config: Any) -> CompactionHarness:
    policy = frozenset({"compact"})
    return CompactionHarness(
        path, log_settings(cleanup_policy=policy, delete_retention_ms=RETENTION, **config)
    )


@pytest.fixture
def log(tmp_path: Path) -> CompactionHarness:
    return harness_with(tmp_path)


def first_header(log: CompactionHarness) -> BatchHeader:
    return log.batches()[0][0]


def test_the_newest_value_of_each_key_stays(log: CompactionHarness) -> None:
    log.put((b"a", b"1"), (b"b", b"2"), (b"a", b"3"))
    log.put((b"c", b"4"), (b"", b"5"))
    log.put((b"b", b"6"))
    log.roll()
    log.put((b"a", b"active"))
    assert log.clean()[0] == 6
    assert log.pairs() == [
        (2, b"a", b"3"),
        (3, b"c", b"4"),
        (4, b"", b"5"),
        (5, b"b", b"6"),
        (6, b"a", b"active"),
    ]
    log.log.check_invariants()


def test_records_without_key_go(log: CompactionHarness) -> None:
    log.put((None, b"1"), (b"a", b"2"), (None, None))
    log.roll()
    log.clean()
    assert log.pairs() == [(1, b"a", b"2")]


def test_an_untouched_batch_is_copied_as_it_is(log: CompactionHarness) -> None:
    log.put((b"a", b"1"), (b"b", b"2"), codec=Codec.GZIP)
    log.roll()
    before = log.batches()
    log.clean()
    assert log.batches() == before


@pytest.mark.parametrize("codec", list(Codec))
def test_a_batch_keeps_its_frame(log: CompactionHarness, codec: Codec) -> None:
    log.put((b"x", b"-"))
    log.put((b"a", b"1"), (b"b", b"2"), (b"a", b"3"), codec=codec, producer=(9, 4, 100), timestamp=5000)
    log.put((b"b", b"newer"), (b"x", b"-"))
    log.roll()
    log.clean()
    header = first_header(log)
    assert (header.base_offset, header.last_offset, header.record_count) == (1, 3, 1)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 4, 100)
    assert (header.codec, header.last_sequence) == (codec, 102)
    assert header.max_timestamp == 5002
    assert next(record[:2] for record in map(_times, log.records())) == (3, 5002)


def _times(record: Any) -> tuple[int, int]:
    return record.offset, record.timestamp


def test_the_largest_timestamp_is_that_of_what_stays(log: CompactionHarness) -> None:
    log.put((b"b", b"2"), (b"a", b"1"), timestamp=9000)
    log.put((b"a", b"3"), timestamp=100)
    log.roll()
    log.clean()
    assert first_header(log).max_timestamp == 9000
    found = log.log.offset_for_timestamp(9000)
    assert found is not None
    assert found.offset == 0
    assert log.log.offset_for_timestamp(9001) is None


def test_append_time_stays(tmp_path: Path) -> None:
    log = harness_with(tmp_path, timestamp_type="LogAppendTime")
    log.put((b"a", b"1"), (b"b", None), timestamp=7000)
    log.put((b"a", b"1"), timestamp=7500, producer=(7, 0, 0))
    log.put((b"a", b"1"), timestamp=8000)
    log.roll()
    log.clean(now_ms=9000)
    assert [_times(record) for record in log.records()] == [(1, 7000), (3, 8000)]
    counts = [(header.record_count, header.uses_log_append_time) for header, _ in log.batches()]
    assert counts == [(1, True), (0, True), (1, True)], "that of a batch without records, too"


# -- tombstones ------------------------------------------------------------------------------------


def test_a_tombstone_stays_until_its_horizon(log: CompactionHarness) -> None:
    log.put((b"a", b"1"), (b"a", None), (b"b", b"2"), timestamp=1000)
    log.put((b"z", b"1"))
    log.roll()
    log.clean(now_ms=10_000)
    header = first_header(log)
    assert header.attributes & DELETE_HORIZON_FLAG
    assert header.base_timestamp == 10_000 + RETENTION
    assert header.max_timestamp == 1002
    assert [_times(record) for record in log.records()] == [(1, 1001), (2, 1002), (3, 1000)]

    log.put((b"c", b"3"))
    log.roll()
    end, _ = log.clean(4, now_ms=10_000 + RETENTION - 1)
    assert first_header(log).base_timestamp == 10_000 + RETENTION, "the horizon is set once"
    assert [key for _, key, _ in log.pairs()] == [b"a", b"b", b"z", b"c"]

    log.put((b"d", b"4"))
    log.roll()
    log.clean(end or 0, now_ms=10_000 + RETENTION)
    assert [key for _, key, _ in log.pairs()] == [b"b", b"z", b"c", b"d"]
    assert next(record.timestamp for record in log.records()) == 1002


def test_a_tombstone_removes_what_came_before(log: CompactionHarness) -> None:
    log.put((b"a", b"1"))
    log.roll()
    log.put((b"a", None))
    log.roll()
    log.clean()
    assert log.pairs() == [(1, b"a", None)]


# -- producers and transactions ---


def test_the_last_batch_of_a_producer_stays_as_a_header(log: CompactionHarness) -> None:
    log.put((b"a", b"1"), producer=(7, 2, 0))
    log.put((b"a", b"2"), (b"b", b"2"), producer=(7, 2, 1), timestamp=3000)
    log.put((b"a", b"3"), (b"b", b"3"))
    log.roll()
    log.clean()
    (header, batch), _ = log.batches()
    assert len(batch) == 61
    assert (header.record_count, header.base_offset, header.last_offset) == (0, 1, 2)
    assert (header.producer_id, header.producer_epoch, header.last_sequence) == (7, 2, 2)
    assert (header.base_timestamp, header.max_timestamp) == (NO_TIMESTAMP, 3001)
    for snapshot in log.directory.glob("*.snapshot"):
        snapshot.unlink()
    log.reopen()
    assert [entry.last_sequence for entry in log.log.producers] == [2]
    log.put((b"c", b"1"), producer=(7, 2, 3))
    log.put((b"c", b"2"), producer=(7, 2, 4))
    log.roll()
    log.clean(5)
    assert [header.record_count for header, _ in log.batches()] == [2, 1], "it goes when the producer went on"


def test_the_end_of_what_was_cleaned_stays(log: CompactionHarness) -> None:
    log.put((b"a", b"1"), (None, b"2"))
    log.put((None, b"3"))
    log.roll()
    log.clean()
    assert [(h.base_offset, h.record_count) for h, _ in log.batches()] == [(0, 1), (2, 0)]


def test_aborted_data_goes_and_the_marker_later(log: CompactionHarness) -> None:
    log.put((b"a", b"committed"), producer=(1, 0, 0), transactional=True)
    log.end_transaction(1, 0, commit=True)
    log.put((b"a", b"aborted"), producer=(1, 0, 1), transactional=True)
    log.end_transaction(1, 0, commit=False)
    log.put((b"x", b"1"), producer=(1, 0, 2))
    assert next_round(log, 1000) == [(0, False), (1, False), (3, False), (4, False)]
    assert log.pairs() == [(0, b"a", b"committed"), (4, b"x", b"1")]
    assert log.log.aborted_transactions(0, 5) == [(1, 2)], "the data was there when the marker was copied"

    log.put((b"a", b"newer"))
    assert next_round(log, 2000) == [(1, False), (3, True), (4, False), (5, False)]
    assert log.log.aborted_transactions(0, 6) == [], "nobody has to skip anything"
    assert log.batches()[1][0].base_timestamp == 2000 + RETENTION
    marker = read_marker(memoryview(log.batches()[1][1]))
    assert marker is not None
    assert marker.type == ControlType.ABORT

    log.put((b"y", b"1"))
    assert next_round(log, 2000 + RETENTION - 1) == [(1, True), (3, True), (4, False), (5, False), (6, False)]
    log.put((b"y", b"2"))
    assert next_round(log, 2000 + RETENTION) == [(1, True), (4, False), (5, False), (7, False)]
    log.put((b"y", b"3"))
    assert next_round(log, 2000 + 2 * RETENTION) == [(4, False), (5, False), (8, False)]


def test_a_commit_marker_goes_after_its_own_data_whatever_its_producer_still_has(
    log: CompactionHarness,
) -> None:
    for sequence, key in enumerate((b"a", b"b")):
        log.put((key, b"1"), producer=(1, 0, sequence), transactional=True)
        log.end_transaction(1, 0, commit=True)
    log.put((b"b", b"2"), producer=(1, 0, 2))
    assert next_round(log, 1000) == [(0, False), (1, False), (3, False), (4, False)]
    assert next_round(log, 2000) == [(0, False), (1, False), (3, True), (4, False)]
    assert next_round(log, 2000 + RETENTION) == [(0, False), (1, False), (4, False)]


def next_round(log: CompactionHarness, now_ms: int) -> list[tuple[int, bool]]:
    """Clean all there is; the batches that stay, and whether they have a horizon."""
    log.roll()
    log.clean(0, now_ms=now_ms)
    return [(header.base_offset, header.has_delete_horizon) for header, _ in log.batches()]


def test_a_marker_stays_while_its_aborted_producer_is_remembered(log: CompactionHarness) -> None:
    """The emptied batch keeps the sequence, and it is still part of an aborted transaction."""
    log.put((b"a", b"aborted"), producer=(1, 0, 0), transactional=True)
    log.end_transaction(1, 0, commit=False)
    log.roll()
    log.clean(now_ms=1000)
    log.put((b"b", b"1"))
    log.roll()
    log.clean(2, now_ms=10**6)
    assert [(h.base_offset, h.record_count, h.is_control) for h, _ in log.batches()] == [
        (0, 0, False),
        (1, 1, True),
        (2, 1, False),
    ]
    assert log.log.aborted_transactions(0, 3) == [(1, 0)]


def test_the_marker_of_a_producer_without_data_keeps_its_epoch(log: CompactionHarness) -> None:
    log.end_transaction(1, 5, commit=False)
    log.put((b"a", b"1"))
    log.roll()
    log.clean(now_ms=1000)
    log.put((b"b", b"1"))
    log.roll()
    log.clean(2, now_ms=10**6)
    for snapshot in log.directory.glob("*.snapshot"):
        snapshot.unlink()
    header = first_header(log)
    assert (header.is_control, header.record_count, header.producer_epoch) == (True, 0, 5)


def test_an_open_transaction_holds_cleaning_up(log: CompactionHarness) -> None:
    log.put((b"a", b"1"))
    log.put((b"a", b"2"))
    log.roll()
    log.put((b"a", b"open"), producer=(1, 0, 0), transactional=True)
    log.put((b"a", b"3"))
    log.roll()
    log.put((b"a", b"4"))
    log.roll()
    assert log.clean()[0] == 2
    assert [offset for offset, _, _ in log.pairs()] == [1, 2, 3, 4]
    log.end_transaction(1, 0, commit=False)
    log.roll()
    log.clean(2)
    assert [offset for offset, _, _ in log.pairs()] == [4]


def test_an_aborted_transaction_over_several_segments(log: CompactionHarness) -> None:
    log.put((b"a", b"1"), producer=(1, 0, 0), transactional=True)
    log.roll()
    log.put((b"b", b"2"), producer=(1, 0, 1), transactional=True)
    log.put((b"b", b"other"))
    log.roll()
    log.end_transaction(1, 0, commit=False)
    log.clean()
    assert log.pairs() == [(2, b"b", b"other")]
    assert log.log.aborted_transactions(0, 4) == [(1, 0)], "the index is that of the marker's segment"


# -- old formats and damage ---


def adopt(log: CompactionHarness, *messages: bytes, end: int) -> None:
    """A log that an old Kafka began: message sets in a closed segment."""
    log.put((b"-", b"-"))
    log.log.truncate_fully_and_start_at(0)
    log.log.close()
    (log.directory / f"{0:020d}.log").write_bytes(b"".join(messages))
    (log.directory / f"{end:020d}.log").write_bytes(b"")
    log.reopen()
    assert log.log.local.segments.base_offsets == [0, end]


@pytest.mark.parametrize("magic", [0, 1])
def test_old_messages_are_cleaned_in_their_format(log: CompactionHarness, magic: int) -> None:
    stamp = 5000 if magic else -1
    base = 1 if magic else 0

    def message(offset: int, key: bytes | None, value: bytes | None) -> bytes:
        return encode_message(offset, magic, 0, stamp, key, value)

    inner = message(1 - base, b"a", b"2") + message(2 - base, b"b", b"3") + message(3 - base, b"c", None)
    adopt(
        log,
        message(0, b"a", b"1"),
        encode_wrapper(inner, Codec.GZIP, magic, last_offset=3, attributes=0, timestamp=stamp),
        message(4, b"b", b"4"),
        message(5, None, b"5"),
        end=6,
    )
    assert log.clean()[0] == 6
    data = (log.directory / f"{0:020d}.log").read_bytes()
    found = [(m.offset, m.magic, m.timestamp, m.key, m.value) for m in read_messages(data)]
    assert found == [
        (1, magic, stamp, b"a", b"2"),
        (3, magic, stamp, b"c", None),
        (4, magic, stamp, b"b", b"4"),
    ]
    log.reopen()
    log.log.check_invariants()


@pytest.mark.leaves_damage("a damaged batch is not cleaned, and stays")
@pytest.mark.parametrize("position", [20, 61 + 3, -1])
def test_damage_is_no_reason_to_lose_anything(log: CompactionHarness, position: int) -> None:
    log.put((b"a", b"1"), (b"a", b"2"))
    log.roll()
    path = log.directory / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[position] ^= 0x10
    path.write_bytes(data)
    end, reports = log.clean()
    assert end is None
    assert reports == [Damaged("00000000000000000000.log is damaged at byte 0")]
    assert path.read_bytes() == data
