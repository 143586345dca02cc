"""A process is killed at each file operation of a move: the next one finds the log, whole."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.cluster.control_requests import Role
from kcompat.log.errors import LogDirectoryError
from kcompat.log.files import Files
from support.replica_moves import ME, ONE, THREE, TWO, MovesFixture, append, values_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class KilledError(BaseException):
    """Nothing is done any more."""


def _counted(name: str) -> Callable[..., Any]:
    def operate(self: KilledFiles, *args: Any, **options: Any) -> Any:
        self.tick(name)
        return getattr(super(KilledFiles, self), name)(*args, **options)

    return operate


class KilledFiles(Files):
    """The process is killed before one of the operations that come once `left` is set."""

    left: int | None = None
    killed_before = ""

    def tick(self, name: str) -> None:
        """Count an operation."""
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                self.killed_before = name
                raise KilledError

    write = _counted("write")
    rename = _counted("rename")
    make_directory = _counted("make_directory")
    sync = _counted("sync")
    sync_directory = _counted("sync_directory")
    truncate = _counted("truncate")
    remove = _counted("remove")
    remove_tree = _counted("remove_tree")


def test_the_log_is_found_whole_but_between_two_renamings_where_it_is_found_twice(tmp_path: Path) -> None:
    refused: list[str] = []
    for number in count():
        home = tmp_path / str(number)
        files = KilledFiles()
        fixture = MovesFixture(home, files=files)
        partition = fixture.create(segment_bytes="250")
        append(partition, ONE, TWO, THREE)
        files.left = number
        try:
            fixture.moves.move("t", 0, fixture.b)
            fixture.clock.advance(60_000)
        except KilledError:
            files.left = None
            fixture.crash()
        else:
            files.left = None
            fixture.stop()
            break
        if all((home / name / "t-0").is_dir() for name in "ab"):
            with pytest.raises(LogDirectoryError, match="only one can be the partition's log"):
                MovesFixture(home, seed=1)
            refused.append(files.killed_before)
            continue
        again = MovesFixture(home, seed=1)
        partition = again.create(role=Role(ME, 1, (ME,), (ME,)))
        again.clock.advance(61_000)
        assert values_of(partition) == [ONE, TWO, THREE], files.killed_before
        assert again.names() in (["a/t-0"], ["b/t-0"])
        again.stop()
    assert number > 20
    assert (refused[0], refused[-1]) == ("sync_directory", "rename"), "of the copy's name, and of the log"


def test_a_killed_process_does_nothing_more(tmp_path: Path) -> None:
    files = KilledFiles()
    files.left = 0
    with pytest.raises(KilledError):
        files.make_directory(str(tmp_path / "x"))
    assert list(tmp_path.iterdir()) == []
