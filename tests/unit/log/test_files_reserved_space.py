"""Room on the disk ahead of a segment that grows."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.log.files import Files
from kcompat.log.system_calls import reserve_blocks
from support.log_harness import make_batch

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1 << 20
VALUE = bytes(300_000)
BATCH_SIZE = len(make_batch(value=VALUE))
BLOCK = 64 * 1024
FIRST, SECOND = "00000000000000000000.log", "00000000000000000010.log"


def on_disk(path: Path) -> int:
    return path.stat().st_blocks * 512


class Reserving(Files):
    """Files whose room is found ahead, by the C library that is given or by the process's own."""

    def __init__(self, library: object | None = None) -> None:
        self._find_room = partial(reserve_blocks, library=library)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Skips where the file system reserves nothing."""
    files = Reserving()
    file = files.open(str(tmp_path / "probe"))
    files.reserve(file, 0)
    if on_disk(tmp_path / "probe") < MIB:
        pytest.skip("the file system of the temporary directory reserves no room")
    return files


def test_a_segment_that_grows_has_room_ahead_of_it_and_keeps_its_size(
    make_harness: Any, files: Files
) -> None:
    harness = make_harness(files)
    log = harness.directory / FIRST
    for _ in range(3):
        harness.append(value=VALUE)
    assert on_disk(log) < MIB
    for _ in range(7):
        harness.append(value=VALUE)
    assert log.stat().st_size == harness.log.size == 10 * BATCH_SIZE
    assert (
        on_disk(log) >= 12 * BATCH_SIZE
    )  # 1 MiB from the fourth batch on, from the seventh as much as it held


@pytest.mark.parametrize("end", ["roll", "close"])
def test_room_that_was_not_used_is_given_back(make_harness: Any, end: str, files: Files) -> None:
    harness = make_harness(files)
    for _ in range(10):
        harness.append(value=VALUE)
    log = harness.directory / FIRST
    assert on_disk(log) >= 12 * BATCH_SIZE
    if end == "roll":
        harness.log.roll(0)
        assert (harness.directory / SECOND).stat().st_size == 0
    else:
        harness.log.close()
    assert log.stat().st_size == 10 * BATCH_SIZE
    assert on_disk(log) < 10 * BATCH_SIZE + BLOCK


def test_room_is_reserved_again_where_a_killed_broker_goes_on(make_harness: Any, files: Files) -> None:
    harness = make_harness(files)
    for _ in range(10):
        harness.append(value=VALUE)
    harness.reopen()
    assert harness.append(value=VALUE).base_offset == 10
    log = harness.directory / FIRST
    assert log.stat().st_size == 11 * BATCH_SIZE
    assert on_disk(log) >= 20 * BATCH_SIZE
    harness.log.close()
    assert on_disk(log) < 11 * BATCH_SIZE + BLOCK


class Refusing:
    """A C library whose calls fail, or are missing."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, int, int]] = []

    def fallocate64(self, _fd: int, mode: int, position: Any, length: Any) -> int:
        self.calls.append((mode, position.value, length.value))
        return -1


def test_room_grows_with_the_file_up_to_16_mib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = Refusing()
    monkeypatch.setattr(os, "major", lambda _device: 8)
    files = Reserving(library)
    file = files.open(str(tmp_path / "file"))
    assert (file.reserved, file.has_reserve) == (MIB, False)
    for position in (0, 3 * MIB, 100 * MIB):
        files.reserve(file, position)
    assert library.calls == [(1, 0, MIB), (1, 3 * MIB, 3 * MIB), (1, 100 * MIB, 16 * MIB)]
    assert (file.reserved, file.has_reserve) == (116 * MIB, True)


def test_no_room_is_reserved_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = Refusing()
    monkeypatch.setattr(os, "major", lambda _device: 0)
    files = Reserving(library)
    file = files.open(str(tmp_path / "file"))
    files.reserve(file, 3 * MIB)
    assert (library.calls, file.reserved) == ([], 6 * MIB)


@pytest.mark.parametrize("library", [Refusing(), object()], ids=["refused", "missing"])
def test_without_room_ahead_appends_go_on(
    make_harness: Any, monkeypatch: pytest.MonkeyPatch, library: object
) -> None:
    monkeypatch.setattr(os, "major", lambda _device: 8)
    harness = make_harness(Reserving(library))
    for _ in range(10):
        harness.append(value=VALUE)
    assert (harness.directory / FIRST).stat().st_size == 10 * BATCH_SIZE
    assert harness.offsets() == [(offset, offset) for offset in range(10)]
