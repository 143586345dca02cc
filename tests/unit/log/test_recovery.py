"""Loading after a clean stop, after a kill, and after somebody damaged the files."""

from __future__ import annotations

import logging
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.log.checkpoints import format_epochs
from kcompat.log.producer_snapshot import encode_snapshot
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import read_header
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from support.log_harness import LAST_EPOCH, make_batch

if TYPE_CHECKING:
    from pathlib import Path

LOG = "00000000000000000000.log"


def test_a_clean_stop_is_loaded_without_looking_at_the_batches(harness: Any) -> None:
    for n in range(3):
        harness.append(2, epoch=n, producer_id=5, producer_epoch=0, base_sequence=2 * n, timestamp=1000 + n)
    harness.log.close()
    before = harness.files()
    assert set(before) == {
        LOG, "00000000000000000000.index", "00000000000000000000.timeindex", "00000000000000000006.snapshot",
        "leader-epoch-checkpoint", "partition.metadata",
    }  # fmt: skip
    log = harness.reopen(clean=True, recovery_point=6)
    assert (log.log_end_offset, log.recovery_point, log.epochs.latest) == (6, 6, 2)
    assert log.topic_id == bytes(range(16))
    assert harness.files() == before
    assert log.max_timestamp_offset().timestamp == 1002
    (producer,) = log.producers
    assert producer.last_sequence == 5
    again = harness.append(2, producer_id=5, producer_epoch=0, base_sequence=4)
    assert (again.duplicate, again.base_offset) == (True, 4)
    assert harness.append(2, producer_id=5, producer_epoch=0, base_sequence=6).base_offset == 6
    log.check_invariants()


def test_an_empty_log_is_loaded(harness: Any) -> None:
    assert set(harness.files()) == {"partition.metadata"}
    assert harness.reopen(clean=True).log_end_offset == 0
    assert harness.append().base_offset == 0
    assert harness.reopen().log_end_offset == 1


def test_a_killed_log_recovers_everything_it_acknowledged(make_harness: Any) -> None:
    harness = make_harness(segment_bytes=1000, index_interval_bytes=200)
    for n in range(40):
        harness.append(
            2, epoch=n // 9, producer_id=5, producer_epoch=0, base_sequence=2 * n, timestamp=1000 + n
        )
    killed = harness.log
    log = harness.reopen()
    assert log.log_end_offset == killed.log_end_offset == 80
    assert log.local.segments.base_offsets == killed.local.segments.base_offsets
    assert log.producers[0].last_sequence == 79
    assert [log.epochs.epoch_for(offset) for offset in range(80)] == [offset // 18 for offset in range(80)]
    assert harness.offsets() == [(2 * n, 2 * n + 1) for n in range(40)]
    for n in range(40):
        assert log.offset_for_timestamp(1000 + n).offset == 2 * n
    log.check_invariants()


def test_a_killed_log_that_is_small_gets_its_index_files_when_it_is_closed(make_harness: Any) -> None:
    harness = make_harness(segment_bytes=1000, index_interval_bytes=200)
    for n in range(12):
        harness.append(2, timestamp=1000 + n)
    suffixes = (".index", ".timeindex")
    kept = [name for name in harness.files() if name.endswith(suffixes)]
    for _ in range(2):
        log = harness.reopen()
        assert len(log.local.segments) > 1
        assert [name for name in harness.files() if name.endswith(suffixes)] == kept
        assert [log.offset_for_timestamp(1000 + n).offset for n in range(12)] == [2 * n for n in range(12)]
        assert log.max_timestamp_offset().timestamp == 1011
    log.close()
    assert len([name for name in harness.files() if name.endswith(suffixes)]) == len(kept) + 2
    before = harness.files()
    log = harness.reopen(clean=True, recovery_point=24)
    assert harness.files() == before
    assert log.offset_for_timestamp(1011).offset == 22
    log.check_invariants()


def test_a_torn_tail_is_cut_at_every_byte(harness: Any, tmp_path: Path) -> None:
    ends = [(0, 0)]
    for n in range(4):
        harness.append(1 + n, epoch=n, producer_id=5, producer_epoch=0, base_sequence=ends[-1][1])
        ends.append((harness.log.size, harness.log.log_end_offset))
    killed = tmp_path / "killed"
    harness.directory.rename(killed)
    content = (killed / LOG).read_bytes()
    for cut in range(len(content) + 1):
        shutil.copytree(killed, harness.directory)
        (harness.directory / LOG).write_bytes(content[:cut])
        log = harness.reopen()
        whole = [end for end in ends if end[0] <= cut]
        assert (log.size, log.log_end_offset) == whole[-1]
        assert log.epochs.latest == len(whole) - 2
        sequences = [producer.last_sequence for producer in log.producers]
        assert sequences == ([whole[-1][1] - 1] if len(whole) > 1 else [])
        assert harness.append(epoch=9).base_offset == whole[-1][1]
        log.check_invariants()
        shutil.rmtree(harness.directory)


@pytest.mark.parametrize(
    ("at", "value", "survive"),
    [
        (0, 1, 1),  # base offset far ahead: it and what follows go
        (7, 9, 1),  # base offset a little ahead
        (7, 0, 1),  # base offset behind
        (11, 255, 1),  # length beyond the file
        (8, 255, 1),  # negative length
        (7, 1, 1),  # base offset inside the batch before
        (15, 7, 1),  # an epoch that was never begun
        (16, 3, 1),  # unknown magic
        (16, 1, 1),  # magic of an old format: its own CRC does not match
        (17, 1, 1),  # CRC
        (26, 200, 1),  # something under the CRC
    ],
)
def test_a_flipped_byte_is_found_wherever_it_is(harness: Any, at: int, value: int, survive: int) -> None:
    for _ in range(4):
        harness.append(2)
    content = bytearray(harness.files()[LOG])
    size = len(content) // 4
    content[size + at] = value
    (harness.directory / LOG).write_bytes(content)
    log = harness.reopen()
    assert harness.offsets() == [(2 * n, 2 * n + 1) for n in range(survive)]
    assert log.size == survive * size


def test_an_offset_that_jumped_ahead_goes_with_the_batch_that_gives_it_away(harness: Any) -> None:
    for _ in range(3):
        harness.append()
    content = bytearray(harness.files()[LOG])
    content[len(content) // 3 + 6] = 1
    (harness.directory / LOG).write_bytes(content)
    assert harness.reopen().log_end_offset == 1


@pytest.mark.leaves_gaps("as compaction leaves")
def test_gaps_between_offsets_are_no_damage(harness: Any) -> None:
    for base in (0, 10, 20):
        harness.log.append_as_follower(
            memoryview(make_batch(1, base_offset=base, leader_epoch=0)), leader_epoch=LAST_EPOCH, now_ms=1
        )
    assert harness.reopen().log_end_offset == 21


def test_damage_in_an_earlier_segment_drops_the_later_ones(make_harness: Any) -> None:
    harness = make_harness(segment_bytes=250)
    for _ in range(8):
        harness.append()
    assert harness.log.local.segments.base_offsets == [0, 2, 4, 6]
    path = harness.directory / "00000000000000000002.log"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    log = harness.reopen()
    assert (log.local.segments.base_offsets, log.log_end_offset) == ([0, 2], 3)
    assert not any(
        name.startswith(("00000000000000000004.log", "00000000000000000006.log")) for name in harness.files()
    )
    log.check_invariants()


@pytest.mark.leaves_damage("a damaged batch is not looked at, and stays")
def test_below_the_recovery_point_nothing_is_checked(make_harness: Any) -> None:
    harness = make_harness(segment_bytes=250)
    for _ in range(6):
        harness.append()
    path = harness.directory / LOG
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert harness.reopen(recovery_point=2).log_end_offset == 6


def test_a_missing_or_damaged_index_is_rebuilt_even_after_a_clean_stop(make_harness: Any) -> None:
    harness = make_harness(index_interval_bytes=0)
    for n in range(5):
        harness.append(timestamp=1000 + n)
    harness.log.close()
    before = harness.files()
    for name in ("00000000000000000000.index", "00000000000000000000.timeindex"):
        for damage in (None, b"", b"xyz", b"\xff" * len(before[name])):
            path = harness.directory / name
            if damage is None:
                path.unlink()
            else:
                path.write_bytes(damage)
            log = harness.reopen(clean=True)
            assert log.offset_for_timestamp(1003).offset == 3, (name, damage)
            assert log.read(3, 1 << 20, 5).position == 3 * len(before[LOG]) // 5
            log.close()
            if damage != b"" or name.endswith("timeindex"):
                assert harness.files() == before


@pytest.mark.parametrize("left", [bytes(10_000), b"\xff" * 10_000, b"\x07" * 12, b"", None])
def test_recovery_writes_indexes_over_whatever_is_there(make_harness: Any, left: bytes | None) -> None:
    harness = make_harness(segment_bytes=600, index_interval_bytes=0)
    for n in range(20):
        harness.append(timestamp=1000 + n)
    harness.log.close()
    before = harness.files()
    for name in before:
        if name.endswith(("index", ".snapshot")) and left is None:
            (harness.directory / name).unlink()
        elif name.endswith("index"):
            (harness.directory / name).write_bytes(left)
    harness.reopen().close()
    assert harness.files() == before


def test_recovery_leaves_snapshots_alone_that_are_right(make_harness: Any) -> None:
    harness = make_harness(segment_bytes=600)
    for n in range(20):
        harness.append(producer_id=7, producer_epoch=0, base_sequence=n)
    snapshots = sorted(harness.directory.glob("*.snapshot"))
    inodes = [path.stat().st_ino for path in snapshots]
    right = snapshots[2].read_bytes()
    snapshots[2].write_bytes(b"not right")
    harness.reopen()
    assert snapshots[2].read_bytes() == right
    now = [path.stat().st_ino for path in snapshots]
    assert now[:2] + now[3:] == inodes[:2] + inodes[3:]
    assert now[2] != inodes[2]


def test_the_epoch_file_is_rebuilt_from_the_batches(harness: Any, caplog: pytest.LogCaptureFixture) -> None:
    for n in range(4):
        harness.append(epoch=n)
    harness.log.close()
    for damage in (b"garbage", b"", b"0\n1\n", None):
        path = harness.directory / "leader-epoch-checkpoint"
        if damage is None:
            path.unlink()
        else:
            path.write_bytes(damage)
        for clean in (True, False):
            with caplog.at_level(logging.WARNING):
                log = harness.reopen(clean=clean)
            assert [log.epochs.epoch_for(offset) for offset in range(4)] == [0, 1, 2, 3]
            assert path.read_bytes() == format_epochs([(n, n) for n in range(4)])


def test_epochs_beyond_the_end_are_dropped(harness: Any) -> None:
    harness.append(epoch=1)
    (harness.directory / "leader-epoch-checkpoint").write_bytes(b"0\n3\n1 0\n2 1\n3 7\n")
    assert harness.reopen().epochs.latest == 1


def test_a_log_start_inside_the_log_is_kept_and_one_beyond_its_end_empties_it(harness: Any) -> None:
    for n in range(4):
        harness.append(epoch=n)
    log = harness.reopen(log_start_offset=2)
    assert (log.log_start_offset, log.log_end_offset, log.epochs.epoch_for(1)) == (2, 4, -1)
    log = harness.reopen(log_start_offset=9)
    assert (log.log_start_offset, log.log_end_offset, log.size) == (9, 9, 0)
    assert harness.append(epoch=9).base_offset == 9
    log.check_invariants()


def test_a_damaged_snapshot_gives_way_to_an_older_one(make_harness: Any) -> None:
    harness = make_harness(segment_bytes=300)
    for n in range(6):
        harness.append(producer_id=5, producer_epoch=0, base_sequence=n)
    harness.log.close()
    (harness.directory / "00000000000000000006.snapshot").write_bytes(b"garbage")
    log = harness.reopen(clean=True)
    assert log.producers[0].last_sequence == 5
    assert "00000000000000000006.snapshot" not in harness.files()
    for name in harness.files():
        if name.endswith(".snapshot"):
            (harness.directory / name).write_bytes(b"")
    assert harness.reopen(clean=True).producers[0].last_sequence == 5


def test_only_the_snapshots_of_segments_and_of_the_clean_stop_stay(make_harness: Any) -> None:
    harness = make_harness(segment_bytes=300)
    for _ in range(6):
        harness.append()
    for offset in (1, 3, 5, 99):
        (harness.directory / f"{offset:020d}.snapshot").write_bytes(encode_snapshot([]))
    log = harness.reopen(clean=True)
    bases = set(log.local.segments.base_offsets) - {0}
    kept = {int(name[:20]) for name in harness.files() if name.endswith(".snapshot")}
    assert kept == bases | {5}


def test_transactions_survive_a_kill(make_harness: Any) -> None:
    harness = make_harness(segment_bytes=400)
    options = {"producer_id": 5, "producer_epoch": 0, "transactional": True}
    harness.append(2, base_sequence=0, **options)
    for _ in range(4):
        harness.append()
    marker = memoryview(
        build_marker(
            EndTransactionMarker(ControlType.ABORT, 3),
            producer_id=5,
            producer_epoch=0,
            timestamp=1,
            leader_epoch=0,
        )
    )
    assert harness.log.append_as_leader(marker, read_header(marker), 0, 1).error is ErrorCode.NONE
    harness.append(1, base_sequence=2, **options)
    assert len(harness.log.local.segments.base_offsets) > 1
    for name in harness.files():
        if name.endswith(".txnindex"):
            (harness.directory / name).write_bytes(b"torn")
    log = harness.reopen()
    assert log.aborted_transactions(0, 8) == [(5, 0)]
    assert log.producer_state.first_open_offset == 7
    (producer,) = log.producers
    assert (producer.coordinator_epoch, producer.last_sequence) == (3, 2)
    assert producer.current_txn_start_offset == 7


def test_recovery_point_after_an_unclean_start_is_the_smaller_one(harness: Any) -> None:
    for _ in range(3):
        harness.append()
    assert harness.reopen(recovery_point=2).recovery_point == 2
    assert harness.reopen(recovery_point=200).recovery_point == 3


def test_length_bombs_in_a_torn_file_allocate_nothing(harness: Any) -> None:
    harness.append()
    path = harness.directory / LOG
    whole = path.read_bytes()
    bomb = bytearray(make_batch())
    bomb[8:12] = (2**31 - 1).to_bytes(4, "big")
    path.write_bytes(whole + bomb)
    assert harness.reopen().size == len(whole)
