"""Reactions of a log to short writes, a full disk and a failing one."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from kcompat.log.errors import StorageError
from support.faulty_files import FaultyFiles
from support.log_harness import make_batch


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
