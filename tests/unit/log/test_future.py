"""Copies of logs in other log directories, which are to replace them."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from kcompat.log.errors import LogDirectoryError, StorageError
from kcompat.log.files import Files
from support.virtual_clock import VirtualClock

from .test_manager import CONFIG, TOPIC_ID, append, start

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


def test_two_copies_of_one_log_are_refused(tmp_path: Path, clock: VirtualClock) -> None:
    for name in ("a", "b"):
        (tmp_path / name / f"t-0.{'0' * 32}-future").mkdir(parents=True)
    with pytest.raises(LogDirectoryError, match="are both to replace the log of one partition"):
        start(clock, tmp_path / "a", tmp_path / "b")


def test_a_copy_beside_the_log_itself_is_left_alone(
    tmp_path: Path, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("t-0", f"t-0.{'0' * 32}-future"):
        (tmp_path / name).mkdir(parents=True)
    manager = start(clock, tmp_path)
    assert [log.directory for log in manager] == [str(tmp_path / "t-0")]
    assert list(manager.futures) == []
    assert "is left alone" in caplog.text
    manager.close()


def test_the_high_watermark_of_a_copy_goes_no_further_than_the_copy(
    tmp_path: Path, clock: VirtualClock
) -> None:
    manager = start(clock, tmp_path / "a", tmp_path / "b")
    log = manager.create("t", 0, TOPIC_ID, CONFIG)
    append(log, 5)
    copy = manager.futures.create(log, manager.directories[1])
    append(copy, 2)
    manager.checkpoint_high_watermarks({("t", 0): 4})
    manager.close()
    stored = [(tmp_path / name / "replication-offset-checkpoint").read_text() for name in "ab"]
    assert stored == ["0\n1\nt 0 4\n", "0\n1\nt 0 2\n"]


@pytest.mark.parametrize("failing", ["b/t-0", "-delete"])
def test_a_copy_replaces_a_log_whole_or_not_at_all(tmp_path: Path, clock: VirtualClock, failing: str) -> None:
    class Faulty(Files):
        def rename(self, source: str, target: str) -> None:
            if target.endswith(failing):
                raise OSError(errno.EIO, "Input/output error")
            super().rename(source, target)

    manager = start(clock, tmp_path / "a", tmp_path / "b", files=Faulty())
    log = manager.create("t", 0, TOPIC_ID, CONFIG)
    append(log, 2)
    append(manager.futures.create(log, manager.directories[1]), 2)
    if failing == "-delete":
        replaced = manager.replace_with_future("t", 0)
        assert (manager.get("t", 0), replaced.log_end_offset) == (replaced, 2)
        assert manager.futures.get("t", 0) is None
        assert [directory.offline is None for directory in manager.directories] == [False, True]
    else:
        with pytest.raises(StorageError):
            manager.replace_with_future("t", 0)
        assert manager.get("t", 0) is log
        assert not log.is_failed
        assert [directory.offline is None for directory in manager.directories] == [True, False]
    manager.close()


def test_files_of_a_copy_that_await_their_deletion_are_gone_when_it_has_replaced_the_log(
    tmp_path: Path, clock: VirtualClock
) -> None:
    """Nobody would know their new name."""
    manager = start(clock, tmp_path / "a", tmp_path / "b")
    log = manager.create("t", 0, TOPIC_ID, CONFIG)
    copy = manager.futures.create(log, manager.directories[1])
    for each in (log, copy):
        append(each)
        each.roll(0)
        each.delete_records_before(1)
    manager.enforce_retention(clock.now_ms(), lambda log: log.log_end_offset)
    clock.advance(0)
    assert list(tmp_path.glob("b/t-0.*/*.deleted"))
    replaced = manager.replace_with_future("t", 0)
    assert (replaced.log_start_offset, replaced.log_end_offset) == (1, 1)
    assert [path.name for path in tmp_path.glob("b/t-0/*.log*")] == [f"{1:020d}.log"]
    manager.close()
