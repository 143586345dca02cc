"""When a log syncs what it has, and what it does when the disk does not take it."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.log.errors import StorageError
from support.disk import Create, PowerCut
from support.faulty_files import FaultyFiles
from support.log_harness import make_batch
from support.recorded_files import RecordingFiles

if TYPE_CHECKING:
    from pathlib import Path

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


def test_the_indexes_of_a_rolled_segment_are_synced_with_it(make_harness: Any, tmp_path: Path) -> None:
    files = RecordingFiles(tmp_path)
    harness = make_harness(files, index_interval_bytes=0)
    for timestamp in (1000, 2000, 3000):
        harness.append(timestamp=timestamp)
    first = "t-0/00000000000000000000"
    assert unsynced(files, first) == {f"{first}.log"}
    harness.log.roll(0)
    assert {path.name for path in harness.directory.glob("*0.*index")} == {
        "00000000000000000000.index",
        "00000000000000000000.timeindex",
    }
    assert unsynced(files, first) == set()


def unsynced(files: RecordingFiles, prefix: str) -> set[str]:
    """Return the files whose paths begin with `prefix` and whose bytes a power cut would lose now."""
    paths = {each.file: each.path for each in files.operations if isinstance(each, Create)}
    at_risk = (paths[file] for file in PowerCut(files.operations).unsynced)
    return {path for path in at_risk if path.startswith(prefix)}


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
