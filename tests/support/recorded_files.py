"""Every change that a broker makes to files, written down as it happens.

`RecordingFiles` knows each method of the file port by name: one that changes something is recorded, step by
step, one that only reads is not. A test sees that there is no third kind.
"""

# Plain paths, as in the port.
# ruff: noqa: PTH112, PTH116, PTH118, PTH208

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kcompat.log.files import Files
from support import disk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcompat.log.files import OpenFile

SHARED_MEMORY = "/dev/shm"

READING = frozenset(
    {"exists", "is_directory", "list", "modified_ms", "read_file", "size", "unlock", "volume_bytes"}
)
"""Methods that change nothing."""
COMPOSED = frozenset({"lock", "open_readonly", "replace_file", "reserve", "set_modified_ms"})
"""Methods that change files by others alone; room and times of files decide nothing in a recovery."""


class RecordingFiles(Files):
    """The files below `home`. `operations` is what made them: it begins with those that are there, and a
    sync.
    """

    def __init__(self, home: Path) -> None:
        self.operations: list[disk.DiskOperation] = []
        self._home = f"{home}/"
        self._numbers: dict[int, int] = {}
        """Number of each file, by its inode."""
        self._next = 0
        for name, content in disk.tree_of(home).items():
            if content is None:
                self._did(disk.MakeDirectory(name))
            else:
                self._create(os.stat(home / name).st_ino, name)
                self._did(disk.Write(self._next, 0, content))
        self._did(disk.SyncAll())

    def _below(self, path: str) -> str:
        assert f"{path}/".startswith(self._home), f"{path} is none of this broker's"
        return path[len(self._home) :]

    def _did(self, operation: disk.DiskOperation) -> None:
        self.operations.append(operation)

    def _create(self, inode: int, name: str) -> None:
        self._next += 1
        self._numbers[inode] = self._next
        self._did(disk.Create(self._next, name))

    def _number(self, fd: int) -> int:
        return self._numbers[os.fstat(fd).st_ino]

    # -- files -----------------------------------------------------------------------------------------------

    def open(self, path: str) -> OpenFile:
        is_new = not os.path.lexists(path)
        file = super().open(path)
        if is_new:
            self._create(os.fstat(file.fd).st_ino, self._below(path))
        return file

    def open_existing(self, path: str) -> OpenFile:
        self._below(path)
        return super().open_existing(path)

    def write(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        done = super().write(fd, data, position)
        self._did(disk.Write(self._number(fd), position, bytes(data[:done])))
        return done

    def write_all(self, file: OpenFile, data: bytes | bytearray | memoryview, position: int) -> None:
        """Record a write; one that failed was cut off again."""
        try:
            super().write_all(file, data, position)
        except OSError:
            self._did(disk.Resize(self._number(file.fd), position))
            raise

    def write_file(self, path: str, data: bytes, *, sync: bool = False) -> None:
        file = self.open(path)
        if os.fstat(file.fd).st_size:
            self.truncate(file, 0)
        self.write_all(file, data, 0)
        if sync:
            self.sync(file)

    def truncate(self, file: OpenFile, size: int) -> None:
        super().truncate(file, size)
        self._did(disk.Resize(self._number(file.fd), size))

    def preallocate(self, file: OpenFile, size: int) -> None:
        super().preallocate(file, size)
        self._did(disk.Resize(self._number(file.fd), os.fstat(file.fd).st_size))

    def sync(self, file: OpenFile) -> None:
        """Record a sync without doing it."""
        self._did(disk.Sync(self._number(file.fd)))

    def sync_directory(self, path: str) -> None:
        """Record a sync of a directory without doing it."""
        self._did(disk.SyncDirectory(self._below(path)))

    def sync_filesystem(self, path: str) -> None:
        """Record a sync of all files without doing it."""
        self._below(path)
        self._did(disk.SyncAll())

    # -- names -----------------------------------------------------------------------------------------------

    def rename(self, source: str, target: str) -> None:
        super().rename(source, target)
        self._did(disk.Rename(self._below(source), self._below(target)))

    def copy(self, source: str, target: str) -> None:
        super().copy(source, target)
        path = Path(target)
        self._create(path.stat().st_ino, self._below(target))
        self._did(disk.Write(self._next, 0, path.read_bytes()))

    def remove(self, paths: Iterable[str]) -> None:
        for path in paths:
            if os.path.lexists(path):
                super().remove([path])
                self._did(disk.Unlink(self._below(path)))

    def make_directory(self, path: str) -> None:
        super().make_directory(path)
        self._did(disk.MakeDirectory(self._below(path)))

    def make_directories(self, path: str) -> None:
        """Make a directory, whose parents exist."""
        if not os.path.isdir(path):
            self.make_directory(path)

    def remove_empty_directory(self, path: str) -> None:
        super().remove_empty_directory(path)
        self._did(disk.RemoveDirectory(self._below(path)))

    def remove_tree(self, path: str) -> None:
        if os.path.isdir(path):
            self.remove(os.path.join(path, name) for name in os.listdir(path))
            self.remove_empty_directory(path)


@contextmanager
def memory_directory() -> Iterator[Path]:
    """An empty directory, where possible in memory: nothing here has to survive."""
    where = SHARED_MEMORY if Path(SHARED_MEMORY).is_dir() else None
    with tempfile.TemporaryDirectory(dir=where) as home:
        yield Path(home)
