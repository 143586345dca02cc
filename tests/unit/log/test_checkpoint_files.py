"""The offset checkpoints of a directory, written by two threads of which one may be late."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from kcompat.log.checkpoint_files import CheckpointFiles
from kcompat.log.checkpoints import parse_offsets
from kcompat.log.context import LogContext
from kcompat.log.files import Files
from kcompat.log.names import CLEANER_OFFSETS, LOG_STARTS, RECOVERY_POINTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

T, U, V = ("t", 0), ("u", 0), ("v", 1)


class CountingFiles(Files):
    """Counts what is written; `full` is a disk without room."""

    def __init__(self) -> None:
        self.writes: list[str] = []
        self.full = False

    def replace_file(self, path: str, data: bytes, *, sync: bool) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "no space left on device")
        self.writes.append(path.rpartition("/")[2])
        super().replace_file(path, data, sync=sync)


class Fixture(LogContext):
    """A log directory whose storage thread works when it is told to."""

    def __init__(self, path: Path) -> None:
        self.counting = CountingFiles()
        super().__init__(str(path), self.counting)
        self.home = path
        self.late: list[Callable[[], object]] = []

    def run(self, work: Callable[[], object]) -> None:
        self.late.append(work)

    def catch_up(self) -> None:
        """Do what the storage thread was to do."""
        while self.late:
            self.late.pop(0)()

    def holds(self, name: str) -> dict[tuple[str, int], int]:
        """Return the offsets that the file holds."""
        return parse_offsets((self.home / name).read_bytes())


@pytest.fixture
def fixture(tmp_path: Path) -> Fixture:
    return Fixture(tmp_path)


def test_what_has_not_changed_is_not_written(fixture: Fixture) -> None:
    files = CheckpointFiles(fixture)
    files.replace(LOG_STARTS, {T: 1})
    files.replace(LOG_STARTS, {T: 1})
    files.replace_aside(RECOVERY_POINTS, {T: 1})
    files.replace_aside(RECOVERY_POINTS, {T: 1})
    fixture.catch_up()
    assert fixture.counting.writes == [LOG_STARTS, RECOVERY_POINTS]


def test_a_late_thread_does_not_undo_what_came_after(fixture: Fixture) -> None:
    files = CheckpointFiles(fixture)
    files.replace_aside(RECOVERY_POINTS, {T: 5})
    files.replace(RECOVERY_POINTS, {T: 2})
    fixture.catch_up()
    assert fixture.holds(RECOVERY_POINTS) == {T: 2}


def test_what_the_thread_has_not_written_yet_is_written_where_it_is_relied_on(fixture: Fixture) -> None:
    files = CheckpointFiles(fixture)
    files.replace_aside(RECOVERY_POINTS, {T: 5})
    files.replace(RECOVERY_POINTS, {T: 5})
    assert fixture.holds(RECOVERY_POINTS) == {T: 5}


def test_a_partition_is_forgotten_and_all_that_are_gone_with_it(fixture: Fixture) -> None:
    files = CheckpointFiles(fixture)
    files.replace(LOG_STARTS, {T: 1, U: 2, V: 3})
    files.replace(RECOVERY_POINTS, {V: 3})
    fixture.counting.writes.clear()
    files.forget(T, {V})
    assert fixture.holds(LOG_STARTS) == {V: 3}
    files.forget(U, {V})
    files.forget(T, {V})
    assert fixture.counting.writes == [LOG_STARTS]


def test_what_the_last_run_left_is_forgotten(fixture: Fixture) -> None:
    CheckpointFiles(fixture).replace(CLEANER_OFFSETS, {T: 1, V: 3})
    files = CheckpointFiles(fixture)
    assert files.read(CLEANER_OFFSETS) == {T: 1, V: 3}
    files.forget(T, {V})
    assert fixture.holds(CLEANER_OFFSETS) == {V: 3}


@pytest.mark.parametrize("order", [({T: 1, V: 3}, {V: 4}), ({V: 3}, {T: 1, V: 4})])
def test_what_is_on_its_way_is_forgotten(
    fixture: Fixture, order: tuple[dict[tuple[str, int], int], ...]
) -> None:
    files = CheckpointFiles(fixture)
    files.replace(RECOVERY_POINTS, order[0])
    files.replace_aside(RECOVERY_POINTS, order[1])
    files.forget(T, {V})
    assert fixture.holds(RECOVERY_POINTS) == {V: 4}
    fixture.catch_up()
    assert fixture.holds(RECOVERY_POINTS) == {V: 4}


def test_what_could_not_be_forgotten_is_forgotten_the_next_time(fixture: Fixture) -> None:
    files = CheckpointFiles(fixture)
    files.replace(LOG_STARTS, {T: 1, V: 3})
    fixture.counting.full = True
    with pytest.raises(OSError, match="no space"):
        files.forget(T, {V})
    assert fixture.holds(LOG_STARTS) == {T: 1, V: 3}
    fixture.counting.full = False
    files.forget(T, {V})
    assert fixture.holds(LOG_STARTS) == {V: 3}


def test_a_write_on_the_thread_that_fails_is_tried_again(fixture: Fixture) -> None:
    files = CheckpointFiles(fixture)
    fixture.counting.full = True
    files.replace_aside(RECOVERY_POINTS, {T: 1})
    fixture.catch_up()
    fixture.counting.full = False
    files.replace_aside(RECOVERY_POINTS, {T: 1})
    fixture.catch_up()
    assert fixture.holds(RECOVERY_POINTS) == {T: 1}
