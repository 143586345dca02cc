"""Every change that `kcompat.log` makes to files, written down as it happens.

The system calls of `kcompat.log.files` and `kcompat.log.system_calls` are recorded one by one. One that this
module does not know is an error, so that no way to change a file goes unnoticed.
"""

# It stands for `os`.
# ruff: noqa: PTH102, PTH105, PTH106, PTH108, PTH112, PTH116, PTH202

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from kcompat.log import files, system_calls
from support import disk

if TYPE_CHECKING:
    from collections.abc import Iterator

SHARED_MEMORY = "/dev/shm"
_READING = frozenset({"fstat", "listdir", "path", "pread", "stat", "statvfs", "strerror"})


class RecordingOs:
    """The module `os` as they use it. `operations` is what made the files below `home`."""

    def __init__(self, home: Path) -> None:
        self.operations: list[disk.Operation] = []
        self._home = f"{home}/"
        self._numbers: dict[int, int] = {}
        self._next = 0
        self._open: dict[int, int | str] = {}
        """By descriptor: the number of a file, or the path of a directory."""
        for name, content in disk.tree_of(home).items():
            if content is None:
                self._did(disk.MakeDirectory(name))
            else:
                self._create(os.stat(home / name).st_ino, name)
                self._did(disk.Write(self._next, 0, content))
        self._did(disk.SyncAll())

    def __getattr__(self, name: str) -> Any:
        assert name in _READING or name.startswith("O_"), f"os.{name} is not known to the recording"
        return getattr(os, name)

    def _below(self, path: str) -> str:
        assert f"{path}/".startswith(self._home), f"{path} is none of this broker's"
        return path[len(self._home) :]

    def _did(self, operation: disk.Operation) -> None:
        self.operations.append(operation)

    # -- files -----------------------------------------------------------------------------------------------

    def open(self, path: str, flags: int, mode: int = 0o777) -> int:
        """See `os.open`."""
        name = self._below(path)
        is_new = flags & os.O_CREAT and not os.path.lexists(path)
        is_cut = flags & os.O_TRUNC and not is_new and os.path.getsize(path)
        fd = os.open(path, flags, mode)
        if flags & os.O_DIRECTORY:
            self._open[fd] = name
            return fd
        inode = os.fstat(fd).st_ino
        if is_new:
            self._create(inode, name)
        self._open[fd] = number = self._numbers[inode]
        if is_cut:
            self._did(disk.Resize(number, 0))
        return fd

    def _create(self, inode: int, name: str) -> None:
        self._next += 1
        self._numbers[inode] = self._next
        self._did(disk.Create(self._next, name))

    def close(self, fd: int) -> None:
        """See `os.close`."""
        self._open.pop(fd, None)
        os.close(fd)

    def _file(self, fd: int) -> int:
        number = self._open[fd]
        assert isinstance(number, int), "bytes are in files"
        return number

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        """See `os.pwrite`."""
        done = os.pwrite(fd, data, position)
        self._did(disk.Write(self._file(fd), position, bytes(data[:done])))
        return done

    def ftruncate(self, fd: int, size: int) -> None:
        """See `os.ftruncate`."""
        os.ftruncate(fd, size)
        self._did(disk.Resize(self._file(fd), size))

    def posix_fallocate(self, fd: int, offset: int, length: int) -> None:
        """See `os.posix_fallocate`."""
        os.posix_fallocate(fd, offset, length)
        self._did(disk.Resize(self._file(fd), os.fstat(fd).st_size))

    def fdatasync(self, fd: int) -> None:
        """See `os.fdatasync`."""
        self._did(disk.Sync(self._file(fd)))

    def fsync(self, fd: int) -> None:
        """See `os.fsync`."""
        what = self._open[fd]
        self._did(disk.SyncDirectory(what) if isinstance(what, str) else disk.Sync(what))

    def utime(self, path: str, ns: tuple[int, int]) -> None:
        """See `os.utime`."""
        os.utime(path, ns=ns)  # times of files decide nothing in a recovery

    # -- names -----------------------------------------------------------------------------------------------

    def replace(self, source: str, target: str) -> None:
        """See `os.replace`."""
        os.replace(source, target)
        self._did(disk.Rename(self._below(source), self._below(target)))

    def unlink(self, path: str) -> None:
        """See `os.unlink`."""
        os.unlink(path)
        self._did(disk.Unlink(self._below(path)))

    def mkdir(self, path: str, mode: int) -> None:
        """See `os.mkdir`."""
        os.mkdir(path, mode)
        self._did(disk.MakeDirectory(self._below(path)))

    def makedirs(self, path: str, mode: int, *, exist_ok: bool) -> None:
        """See `os.makedirs`."""
        if not exist_ok or not os.path.isdir(path):
            self.mkdir(path, mode)

    def rmdir(self, path: str) -> None:
        """See `os.rmdir`."""
        os.rmdir(path)
        self._did(disk.RemoveDirectory(self._below(path)))


@contextmanager
def recording(home: Path) -> Iterator[list[disk.Operation]]:
    """Record what happens to the files below `home`; the growing list begins with those that are there, and a
    sync.
    """
    system = RecordingOs(home)

    def sync_filesystem(_files: files.Files, _path: str) -> None:
        system.operations.append(disk.SyncAll())

    with (
        mock.patch.object(files, "os", system),
        mock.patch.object(system_calls, "os", system),
        mock.patch.object(files.Files, "sync_filesystem", sync_filesystem),
    ):
        yield system.operations


@contextmanager
def memory_directory() -> Iterator[Path]:
    """An empty directory, where possible in memory: nothing here has to survive."""
    where = SHARED_MEMORY if Path(SHARED_MEMORY).is_dir() else None
    with tempfile.TemporaryDirectory(dir=where) as home:
        yield Path(home)
