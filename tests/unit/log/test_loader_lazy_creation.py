"""A log that the manager created comes to the disk a little later, or with its first append."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from kcompat.log.errors import StorageError
from kcompat.log.files import Files
from kcompat.records.batch import build_batch, read_header
from kcompat.records.record import Record
from support.default_settings import log_settings
from support.log_manager import log_manager
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.log.log import Log
    from kcompat.log.manager import LogManager

TOPIC_ID = bytes(range(16))
CONFIG = log_settings()


class FullDisk(Files):
    """Has no room for directories while `is_full`."""

    is_full = False

    def make_directory(self, path: str) -> None:
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        super().make_directory(path)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


def start(clock: VirtualClock, path: Path, files: Files | None = None) -> LogManager:
    manager = log_manager([path], clock, files or Files())
    manager.open(1, "cluster", CONFIG)
    return manager


def append(log: Log) -> None:
    batch = build_batch([Record(0, 1_000, None, b"v")])
    log.append_as_leader(memoryview(batch), read_header(memoryview(batch)), 0, 1_000)


def partitions(path: Path) -> list[str]:
    return sorted(found.name for found in path.iterdir() if found.is_dir())


def test_directories_are_made_soon_after(tmp_path: Path, clock: VirtualClock) -> None:
    manager = start(clock, tmp_path)
    for partition in range(10):
        manager.create("t", partition, TOPIC_ID, CONFIG)
    assert partitions(tmp_path) == []
    clock.advance(1_000)
    assert partitions(tmp_path) == sorted(f"t-{partition}" for partition in range(10))
    assert "topic_id" in (tmp_path / "t-0" / "partition.metadata").read_text()
    manager.create("t", 10, TOPIC_ID, CONFIG)
    clock.advance(1_000)
    assert (tmp_path / "t-10").exists()
    manager.close()


def test_the_first_append_does_not_wait(tmp_path: Path, clock: VirtualClock) -> None:
    manager = start(clock, tmp_path)
    append(manager.create("t", 0, TOPIC_ID, CONFIG))
    assert (tmp_path / "t-0" / "00000000000000000000.log").stat().st_size > 0
    clock.advance(1_000)
    manager.close()


def test_a_clean_stop_makes_what_is_missing(tmp_path: Path, clock: VirtualClock) -> None:
    manager = start(clock, tmp_path)
    manager.create("t", 0, TOPIC_ID, CONFIG)
    manager.close()
    assert partitions(tmp_path) == ["t-0"]
    clock.advance(1_000)
    manager = start(clock, tmp_path)
    log = manager.get("t", 0)
    assert log is not None
    assert log.topic_id == TOPIC_ID
    manager.close()


def test_a_log_deleted_at_once_leaves_nothing(tmp_path: Path, clock: VirtualClock) -> None:
    manager = start(clock, tmp_path)
    manager.create("t", 0, TOPIC_ID, CONFIG)
    manager.delete("t", 0)
    manager.create("t", 0, TOPIC_ID, CONFIG)
    manager.delete("t", 0)
    clock.advance(1_000)
    assert partitions(tmp_path) == []
    manager.close()


def test_a_full_disk_is_tried_again_by_the_append(tmp_path: Path, clock: VirtualClock) -> None:
    files = FullDisk()
    manager = start(clock, tmp_path, files)
    log = manager.create("t", 0, TOPIC_ID, CONFIG)
    files.is_full = True
    clock.advance(1_000)
    with pytest.raises(StorageError):
        append(log)
    assert not log.is_failed
    files.is_full = False
    append(log)
    assert log.log_end_offset == 1
    manager.close()
