"""A log of a name that another had before: it inherits nothing."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from kcompat.log.errors import StorageError
from kcompat.log.files import Files
from kcompat.records.batch import read_header
from support.default_settings import log_settings
from support.log_harness import make_batch
from support.log_manager import log_manager
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.log.log import Log
    from kcompat.log.manager import LogManager

CONFIG = log_settings(segment_bytes=1 << 20)
EARLIER, LATER = b"e" * 16, b"l" * 16


class SmallDisk(Files):
    """Has no room for checkpoints while it is full; counts those that it takes."""

    full = False
    checkpoints = 0

    def replace_file(self, path: str, data: bytes, *, sync: bool) -> None:
        if path.endswith("-checkpoint") and "/t-" not in path:
            if self.full:
                raise OSError(errno.ENOSPC, "no space left on device")
            self.checkpoints += 1
        super().replace_file(path, data, sync=sync)


@pytest.fixture
def disk() -> SmallDisk:
    return SmallDisk()


def start(home: Path, disk: SmallDisk) -> LogManager:
    manager = log_manager([home / "a", home / "b"], VirtualClock(), disk)
    manager.open(1, "c", CONFIG)
    return manager


def make(manager: LogManager, topic_id: bytes, records: int, partition: int = 0) -> Log:
    """In the first directory."""
    manager.futures.prefer("t", partition, manager.directories[0].path)
    log = manager.create("t", partition, topic_id, CONFIG)
    for _ in range(records):
        batch = memoryview(make_batch())
        log.append_as_leader(batch, read_header(batch), 0, 1000)
    return log


def well_known(manager: LogManager, partition: int = 0) -> Log:
    """A log that is in all checkpoints."""
    log = make(manager, EARLIER, 10, partition)
    log.flush()
    log.delete_records_before(8)
    manager.set_clean_offset(log, 9)
    manager.checkpoint_high_watermarks({("t", index): 10 for index in range(partition + 1)})
    manager.checkpoint_recovery_points()
    return log


@pytest.mark.parametrize("records", [3, 9, 20])
@pytest.mark.parametrize("is_kept", [True, False])
def test_a_kill_does_not_give_a_log_the_offsets_of_an_earlier_one(
    tmp_path: Path, disk: SmallDisk, records: int, *, is_kept: bool
) -> None:
    manager = start(tmp_path, disk)
    log = well_known(manager)
    if is_kept:
        manager.set_aside(log, "is of another topic")
    else:
        manager.delete("t", 0)
    make(manager, LATER, records)
    manager.abandon()
    check(tmp_path, disk, records)


def test_nor_does_a_kill_between_the_two(tmp_path: Path, disk: SmallDisk) -> None:
    manager = start(tmp_path, disk)
    well_known(manager)
    manager._worker.close()
    manager.delete("t", 0)
    manager.abandon()
    manager = start(tmp_path, disk)
    log = make(manager, LATER, 3)
    assert (manager.clean_offset(log), manager.high_watermark(log)) == (None, 0)
    manager.abandon()
    check(tmp_path, disk, 3)


def check(home: Path, disk: SmallDisk, records: int) -> None:
    """The next run finds a log that has inherited nothing."""
    manager = start(home, disk)
    log = manager.get("t", 0)
    assert log is not None
    assert (log.topic_id, log.log_start_offset, log.log_end_offset) == (LATER, 0, records)
    (directory, _) = manager.directories
    assert directory.recovery_points.get(("t", 0), 0) == 0
    assert (manager.clean_offset(log), manager.high_watermark(log)) == (None, 0)
    manager.close()


def test_a_clean_stop_does_not_make_a_log_count_as_compacted(tmp_path: Path, disk: SmallDisk) -> None:
    manager = start(tmp_path, disk)
    well_known(manager)
    manager.delete("t", 0)
    make(manager, LATER, 20)
    manager.close()
    manager = start(tmp_path, disk)
    log = manager.get("t", 0)
    assert log is not None
    assert manager.clean_offset(log) is None
    manager.close()


def test_a_copy_inherits_nothing_either(tmp_path: Path, disk: SmallDisk) -> None:
    manager = start(tmp_path, disk)
    well_known(manager)
    manager.delete("t", 0)
    manager.futures.prefer("t", 0, manager.directories[1].path)
    log = manager.create("t", 0, LATER, CONFIG)
    log.make()
    future = manager.futures.create(log, manager.directories[0])
    batch = memoryview(make_batch())
    future.append_as_leader(batch, read_header(batch), 0, 1000)
    manager.abandon()
    manager = start(tmp_path, disk)
    again = manager.futures.get("t", 0)
    assert again is not None
    assert (again.log_start_offset, again.log_end_offset) == (0, 1)
    manager.close()


def test_many_are_forgotten_at_once(tmp_path: Path, disk: SmallDisk) -> None:
    manager = start(tmp_path, disk)
    for partition in range(20):
        well_known(manager, partition)
    manager._worker.close()
    before = disk.checkpoints
    for partition in range(20):
        manager.delete("t", partition)
    manager.sync_names()
    assert disk.checkpoints == before, "a deletion costs none"
    for partition in range(20):
        make(manager, LATER, 1, partition)
    assert disk.checkpoints == before + 4
    manager.close()


def test_a_log_is_not_made_before_the_earlier_one_is_forgotten(tmp_path: Path, disk: SmallDisk) -> None:
    manager = start(tmp_path, disk)
    well_known(manager)
    manager._worker.close()
    disk.full = True
    manager.delete("t", 0)
    manager.sync_names()
    with pytest.raises(StorageError):
        make(manager, LATER, 1)
    assert manager.get("t", 0) is None
    assert manager.directories[0].offline is None, "a full disk passes"
    disk.full = False
    make(manager, LATER, 3)
    manager.abandon()
    check(tmp_path, disk, 3)
