"""System calls that only some systems have, and their portable implementations."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.log import system_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def fd(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    yield fd
    os.close(fd)


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The inodes that were synced one by one."""
    inodes: set[int] = set()
    monkeypatch.setattr(os, "fsync", lambda fd: inodes.add(os.fstat(fd).st_ino))
    return inodes


@pytest.mark.parametrize("allocate", [system_calls.allocate_blocks, system_calls.extend])
def test_a_file_gets_its_size_and_never_becomes_smaller(allocate: Callable[..., None], fd: int) -> None:
    os.write(fd, b"abc")
    allocate(fd, 5000)
    assert os.fstat(fd).st_size == 5000
    allocate(fd, 10)
    assert os.fstat(fd).st_size == 5000
    assert os.pread(fd, 5, 0) == b"abc\0\0"


def test_to_reserve_nothing_changes_nothing(fd: int) -> None:
    system_calls.reserve_nothing(fd, 0, 1 << 20)
    assert (os.fstat(fd).st_size, os.fstat(fd).st_blocks) == (0, 0)


@pytest.mark.parametrize("sync", [system_calls.sync_bytes, system_calls.sync_all])
def test_a_sync_that_fails_says_so(sync: Callable[[int], None], fd: int) -> None:
    sync(fd)
    reading, writing = os.pipe()
    with pytest.raises(OSError, match="Invalid argument"):
        sync(writing)
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("known", [True, False])
def test_through_the_cache_of_the_device_where_that_is_known(
    known: bool, fd: int, synced: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def system_call(fd: int, _number: int) -> None:
        calls.append(fd)
        if not known:
            raise OSError(errno.ENOTSUP, "not on this file system")

    monkeypatch.setattr(fcntl, "fcntl", system_call)
    system_calls.sync_through(fd)
    assert calls == [fd]
    assert len(synced) == (not known)


def test_a_device_that_fails_is_no_reason_to_try_something_else(
    fd: int, synced: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def system_call(*_: Any) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(fcntl, "fcntl", system_call)
    with pytest.raises(OSError, match="broken"):
        system_calls.sync_through(fd)
    assert not synced


def test_a_tree_is_synced_with_all_its_files_and_directories(tmp_path: Path, synced: set[int]) -> None:
    (tmp_path / "t-0").mkdir()
    places = [tmp_path, tmp_path / "t-0", tmp_path / "checkpoint", tmp_path / "t-0" / "0.log"]
    for path in places[2:]:
        path.touch()
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        system_calls.sync_tree(str(tmp_path))
    assert synced == {path.stat().st_ino for path in places}


def test_what_goes_while_a_tree_is_synced_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "0.log").touch()
    real = os.fsync

    def remove_all(fd: int) -> None:
        real(fd)
        for name in ("a", "b", "c"):
            (tmp_path / name / "0.log").unlink(missing_ok=True)

    monkeypatch.setattr(os, "fsync", remove_all)
    system_calls.sync_tree(str(tmp_path))


def test_a_whole_volume_is_synced_or_it_says_why_not(tmp_path: Path) -> None:
    system_calls.sync_volume(str(tmp_path))
    with pytest.raises(FileNotFoundError):
        system_calls.sync_volume(str(tmp_path / "missing"))
