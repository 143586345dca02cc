"""A file port that is plain as long as nothing disturbs it."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from kcompat.instrumentation.disturbable_files import OPERATIONS, DisturbableFiles
from kcompat.log.files import Files

if TYPE_CHECKING:
    from pathlib import Path


class Refusal:
    """A disturbance that refuses some operations, and remembers all."""

    def __init__(self, *refused: str) -> None:
        self._refused = refused
        self.met: list[tuple[str, str | int]] = []

    def meet(self, operation: str, place: str | int) -> None:
        self.met.append((operation, place))
        if operation in self._refused:
            raise OSError(errno.EIO, operation)

    def hasten(self) -> None:
        pass


def test_operations_meet_the_disturbances_that_there_are(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    files = DisturbableFiles()
    writes, all_of_them = Refusal("write"), Refusal()
    files.disturb(all_of_them)
    files.disturb(writes)
    file = files.open(path)
    with pytest.raises(OSError, match="write"):
        files.write_all(file, b"bytes", 0)
    files.calm(writes)
    files.write_all(file, b"bytes", 0)
    files.remove([path, path])
    assert all_of_them.met == [
        ("open", path),
        ("write", file.fd),
        ("write", file.fd),
        ("remove", path),
        ("remove", path),
    ]


def test_a_calm_port_has_the_operations_of_its_class() -> None:
    """So it costs what the plain port costs."""
    files, disturbance = DisturbableFiles(), Refusal()
    assert vars(files).keys().isdisjoint(OPERATIONS)
    files.disturb(disturbance)
    files.calm(disturbance)
    files.calm(disturbance)
    assert vars(files).keys().isdisjoint(OPERATIONS)
    assert all(hasattr(Files, name) for name in OPERATIONS)
