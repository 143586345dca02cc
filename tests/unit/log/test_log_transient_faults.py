"""A disk that is full for a moment, or a process without descriptors, after something was changed already.

Such a fault passes, and the log goes on (`LogContext.fault`). So it must not leave a change half done.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.log.context import LogContext
from kcompat.log.errors import StorageError
from kcompat.log.files import Files, OpenFile
from kcompat.records.batch import read_header
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from support.default_settings import log_settings
from support.log_harness import LAST_EPOCH, LogHarness, make_batch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kcompat.log.log import Log

INDEX_GROUP = 256
"""Entries that an index writes together."""


class Full(Files):
    """There is no room for files whose names end with `refused`."""

    refused: str | None = None

    def open(self, path: str) -> OpenFile:
        if self.refused is not None and path.endswith(self.refused):
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().open(path)


@pytest.fixture
def files() -> Full:
    return Full()


def test_an_index_that_cannot_be_written_fails_no_append(make_harness: Any, files: Full) -> None:
    harness = make_harness(files, index_interval_bytes=0)
    files.refused = ".index"
    appended = [harness.append().base_offset for _ in range(INDEX_GROUP + 10)]
    files.refused = None
    appended += [harness.append().base_offset for _ in range(10)]
    assert appended == list(range(INDEX_GROUP + 20))
    assert harness.offsets() == [(offset, offset) for offset in appended]
    harness.reopen()
    assert harness.log.log_end_offset == INDEX_GROUP + 20
    assert harness.log.local.segments.active.offset_index.position_for(INDEX_GROUP) > 0


def test_nor_one_of_a_follower(make_harness: Any, files: Full) -> None:
    harness = make_harness(files, index_interval_bytes=0)
    files.refused = ".timeindex"
    sent = b"".join(
        make_batch(timestamp=offset, base_offset=offset, leader_epoch=0) for offset in range(INDEX_GROUP + 10)
    )
    harness.log.append_as_follower(memoryview(bytearray(sent[: len(sent) // 2])), LAST_EPOCH, 0)
    rest = sent[harness.log.local.segments.active.size :]
    harness.log.append_as_follower(memoryview(bytearray(rest)), LAST_EPOCH, 0)
    assert harness.log.log_end_offset == INDEX_GROUP + 10
    harness.log.check_invariants()


def test_a_segment_that_cannot_be_finished_leaves_none_behind_it(make_harness: Any, files: Full) -> None:
    harness = make_harness(files, segment_bytes=4000)
    harness.append(value=b"x" * 3000)
    files.refused = ".index"
    with pytest.raises(StorageError):
        harness.append(value=b"y" * 1500)
    files.refused = None
    for _ in range(3):
        harness.append()
    harness.log.close()
    harness.reopen(clean=True)
    assert harness.offsets() == [(offset, offset) for offset in range(4)]
    harness.append(value=b"y" * 1500)
    assert harness.log.log_end_offset == 5


def test_without_its_index_entry_no_transaction_is_aborted(make_harness: Any, files: Full) -> None:
    harness = make_harness(files)
    harness.append(producer_id=5, producer_epoch=0, base_sequence=0, transactional=True)
    abort = EndTransactionMarker(ControlType.ABORT, 3)
    marker = build_marker(abort, producer_id=5, producer_epoch=0, timestamp=1, leader_epoch=0)
    files.refused = ".txnindex"
    with pytest.raises(StorageError):
        harness.log.append_as_leader(memoryview(marker), read_header(marker), 0, 1)
    assert harness.log.is_failed
    files.refused = None
    harness.reopen()
    assert harness.log.aborted_transactions(0, harness.log.log_end_offset) == [(5, 0)]


class Stubborn(LogContext):
    """One that stores no offsets while it `refuses`; `starts` are the log starts that it stored."""

    refuses = True
    log: Log

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.starts: list[int] = []

    def log_cut(self) -> None:
        self._store()

    def log_start_moved(self) -> None:
        self._store()
        self.starts.append(self.log.log_start_offset)

    def _store(self) -> None:
        if self.refuses:
            raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def stubborn(tmp_path: Path) -> Stubborn:
    context = Stubborn(str(tmp_path))
    harness = LogHarness(tmp_path, log_settings(), context=context)
    for sequence in (0, 5):
        harness.append(5, producer_id=7, producer_epoch=0, base_sequence=sequence)
    context.log = harness.log
    return context


CUTS: dict[str, Callable[[Log], object]] = {
    "at its end": lambda log: log.truncate_to(5),
    "whole": lambda log: log.truncate_fully_and_start_at(20),
}


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
def test_a_cut_that_is_half_done_takes_the_directory_offline(
    stubborn: Stubborn, cut: Callable[[Log], object]
) -> None:
    with pytest.raises(StorageError):
        cut(stubborn.log)
    assert stubborn.log.is_failed


def test_a_log_start_that_was_not_stored_has_not_moved(stubborn: Stubborn) -> None:
    with pytest.raises(StorageError):
        stubborn.log.delete_records_before(5)
    assert (stubborn.log.log_start_offset, stubborn.log.is_failed) == (0, False)
    stubborn.refuses = False
    stubborn.log.delete_records_before(5)
    assert stubborn.starts == [5]
