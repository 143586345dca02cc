"""The transaction index of a segment that a recovery has looked at, after the next power cut.

A segment in which the recovery point lies is recovered at each start. Once the log has gone on to the next
one, nobody looks at it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.log.context import LogContext
from kcompat.log.loader import open_log
from kcompat.records.batch import read_header
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from support.default_settings import log_settings
from support.disk import Create, Fate, PowerCut
from support.log_harness import LogHarness
from support.recorded_files import RecordingFiles

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = log_settings(segment_bytes=400)
INDEX = "00000000000000000000.txnindex"
END = 3
"""End of the first segment: two records, and the marker that aborts them."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """One partition whose only segment is on the device, with a transaction that was aborted."""
    home = tmp_path / "home"
    home.mkdir()
    harness = LogHarness(home, CONFIG)
    harness.append(2, producer_id=5, producer_epoch=0, base_sequence=0, transactional=True)
    marker = build_marker(
        EndTransactionMarker(ControlType.ABORT, 3),
        producer_id=5,
        producer_epoch=0,
        timestamp=1,
        leader_epoch=0,
    )
    harness.log.append_as_leader(memoryview(marker), read_header(marker), 0, 1)
    harness.log.flush()
    assert harness.log.recovery_point == harness.log.log_end_offset == END
    return home


@pytest.mark.parametrize("fate", Fate)
@pytest.mark.parametrize("index", ["as it was", "torn", "lost", "of another log"])
def test_what_was_aborted_is_known_after_a_recovery_a_new_segment_and_a_power_cut(
    home: Path, tmp_path: Path, index: str, fate: Fate
) -> None:
    path = home / "t-0" / INDEX
    whole = path.read_bytes()
    match index:
        case "torn":
            path.write_bytes(whole[:20])
        case "lost":
            path.unlink()
        case "of another log":
            path.write_bytes(whole[:2] + whole[::-1][:32])
    files = RecordingFiles(home)
    log = open_log(
        home / "t-0", "t", 0, CONFIG, now_ms=0, recovery_point=END, context=LogContext(str(home), files)
    )
    log.roll(0)
    cut = PowerCut(files.operations)
    created = {each.file: each.path for each in files.operations if isinstance(each, Create)}
    fates = {file: fate if INDEX in created[file] else Fate.KEPT for file in cut.unsynced}
    for number, names in enumerate(cut.name_changes):
        left = tmp_path / f"left-{number}"
        left.mkdir()
        cut.leaves(names, fates).write_to(left)
        again = open_log(left / "t-0", "t", 0, CONFIG, now_ms=0, recovery_point=END)
        assert again.aborted_transactions(0, END) == [(5, 0)]


def test_a_recovery_leaves_an_index_alone_that_is_right(home: Path) -> None:
    path = home / "t-0" / INDEX
    before = path.stat().st_ino
    log = open_log(home / "t-0", "t", 0, CONFIG, now_ms=0, recovery_point=END)
    assert path.stat().st_ino == before
    assert log.aborted_transactions(0, END) == [(5, 0)]


def test_a_recovery_removes_an_index_of_nothing(home: Path) -> None:
    data = home / "t-0" / "00000000000000000000.log"
    data.write_bytes(data.read_bytes()[:-78])
    log = open_log(home / "t-0", "t", 0, CONFIG, now_ms=0, recovery_point=0)
    assert log.log_end_offset == END - 1
    assert not (home / "t-0" / INDEX).exists()
    assert log.aborted_transactions(0, END) == []
