"""What a broker knows of the sessions of its former life."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.log.files import FILES
from kcompat.log.remembered_sessions import RememberedSessions

if TYPE_CHECKING:
    from pathlib import Path


def test_what_was_written_last_is_read(tmp_path: Path) -> None:
    memory = RememberedSessions(str(tmp_path), FILES)
    assert memory.read() == []
    memory.write({-5, 72057594037927936})
    memory.write([7, -5])
    assert RememberedSessions(str(tmp_path), FILES).read() == [-5, 7]
    memory.write([])
    assert memory.read() == []


def test_a_damaged_file_says_nothing(tmp_path: Path) -> None:
    memory = RememberedSessions(str(tmp_path), FILES)
    memory.write([7])
    (path,) = tmp_path.iterdir()
    path.write_bytes(b"version=0\nsessions=seven\n")
    assert memory.read() == []
    path.write_bytes(b"\xff\xfe")
    assert memory.read() == []
