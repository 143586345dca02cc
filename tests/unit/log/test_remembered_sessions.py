"""A broker's knowledge of the sessions of its former processes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kcompat.log.files import FILES
from kcompat.log.remembered_sessions import RememberedSessions
from support.troubled_disks import DiskTrouble, TroubledFiles

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_what_was_written_last_is_read(tmp_path: Path) -> None:
    memory = RememberedSessions([str(tmp_path)], FILES)
    assert memory.read() == []
    memory.write({-5, 72057594037927936})
    memory.write([7, -5])
    assert RememberedSessions([str(tmp_path)], FILES).read() == [-5, 7]
    memory.write([])
    assert memory.read() == []


def test_a_damaged_file_says_nothing(tmp_path: Path) -> None:
    memory = RememberedSessions([str(tmp_path)], FILES)
    memory.write([7])
    (path,) = tmp_path.iterdir()
    path.write_bytes(b"version=0\nsessions=seven\n")
    assert memory.read() == []
    path.write_bytes(b"\xff\xfe")
    assert memory.read() == []


def test_a_disk_that_fails_or_is_full_leaves_it_to_another(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trouble = DiskTrouble()
    names = ("a", "b")
    for name in names:
        (tmp_path / name).mkdir()
    memory = RememberedSessions([str(tmp_path / name) for name in names], TroubledFiles(tmp_path, trouble))
    memory.write([5])
    trouble.fail("a")
    memory.write([6])
    assert memory.read() == [6]
    trouble.fill("b", 0)
    caplog.set_level(logging.WARNING)
    memory.write([7])
    (said,) = caplog.messages
    assert said.startswith("a new start will have to wait for the end of this session: ")
    trouble.mend()
    assert memory.read() == [5, 6]
    memory.write([8])
    assert memory.read() == [6, 8]
