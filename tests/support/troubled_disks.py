"""Disks of one broker that become full, or fail, and what a broker's files do on them.

A full disk takes no bytes and no names: the write that fills it stops short. Renaming, cutting and deleting
need no room. A failed disk answers nothing at all; what is open can be read, as from memory.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from support.recorded_files import RecordingFiles

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kcompat.log.files import OpenFile


class DiskTrouble:
    """The troubles of a broker's disks, over several starts: each disk is a directory in its home."""

    def __init__(self) -> None:
        self._room: dict[str, int] = {}
        """Bytes that a disk still takes, of those that are about to be full."""
        self._failed: set[str] = set()
        self.were_troubled = False
        """Whether something may have failed at any time: what was to be remembered may be forgotten."""
        self.is_off = False
        """Whether all is well for now: somebody looks who is no broker."""

    @property
    def is_any(self) -> bool:
        """Whether there is a disk on which something may fail."""
        return bool(self._room or self._failed)

    def is_failed(self, name: str) -> bool:
        """Whether nothing is answered by this disk."""
        return name in self._failed

    def fill(self, name: str, room: int) -> None:
        """A disk takes so many more bytes."""
        self._room[name] = room
        self.were_troubled = True

    def fail(self, name: str) -> None:
        """A disk answers no more."""
        self._failed.add(name)
        self.were_troubled = True

    def mend(self) -> None:
        """There is room, and every disk works."""
        self._room.clear()
        self._failed.clear()

    def insist(self, name: str) -> None:
        """Raise what a failed disk answers."""
        if name in self._failed and not self.is_off:
            raise OSError(errno.EIO, "Input/output error", name)

    def take(self, name: str, size: int) -> int:
        """How many of these bytes a disk takes. Raises OSError where there is no room for any."""
        self.insist(name)
        room = self._room.get(name)
        if room is None or self.is_off:
            return size
        if room == 0:
            raise OSError(errno.ENOSPC, "No space left on device", name)
        taken = min(size, room)
        self._room[name] = room - taken
        return taken


class TroubledFiles(RecordingFiles):
    """Files on such disks."""

    def __init__(self, home: Path, trouble: DiskTrouble) -> None:
        self._trouble = trouble
        self._disks: dict[int, str] = {}
        """Disk of each open file, by the file's inode."""
        super().__init__(home)

    def _disk(self, path: str) -> str:
        return self._below(path).partition("/")[0]

    def _disk_of(self, fd: int) -> str:
        return self._disks[os.fstat(fd).st_ino]

    def _create(self, inode: int, name: str) -> None:
        self._disks[inode] = name.partition("/")[0]
        super()._create(inode, name)

    # -- what takes room -------------------------------------------------------------------------------------

    def open(self, path: str) -> OpenFile:
        self._trouble.take(self._disk(path), 0 if os.path.lexists(path) else 1)
        return super().open(path)

    def write(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        taken = self._trouble.take(self._disk_of(fd), len(data))
        return super().write(fd, memoryview(data)[:taken], position)

    def preallocate(self, file: OpenFile, size: int) -> None:
        self._trouble.take(self._disk_of(file.fd), size)
        super().preallocate(file, size)

    def make_directory(self, path: str) -> None:
        self._trouble.take(self._disk(path), 1)
        super().make_directory(path)

    # -- what fails on a failed disk alone -------------------------------------------------------------------

    def open_existing(self, path: str) -> OpenFile:
        self._trouble.insist(self._disk(path))
        return super().open_existing(path)

    def open_readonly(self, path: str) -> OpenFile:
        self._trouble.insist(self._disk(path))
        return super().open_readonly(path)

    def size(self, path: str) -> int | None:
        self._trouble.insist(self._disk(path))
        return super().size(path)

    def list(self, path: str) -> list[str]:
        self._trouble.insist(self._disk(path))
        return super().list(path)

    def modified_ms(self, path: str) -> int:
        self._trouble.insist(self._disk(path))
        return super().modified_ms(path)

    def volume_bytes(self, path: str) -> tuple[int, int]:
        self._trouble.insist(self._disk(path))
        return super().volume_bytes(path)

    def lock(self, path: str) -> OpenFile | None:
        self._trouble.insist(self._disk(path))
        return super().lock(path)

    def truncate(self, file: OpenFile, size: int) -> None:
        self._trouble.insist(self._disk_of(file.fd))
        super().truncate(file, size)

    def sync(self, file: OpenFile) -> None:
        self._trouble.insist(self._disk_of(file.fd))
        super().sync(file)

    def sync_directory(self, path: str) -> None:
        self._trouble.insist(self._disk(path))
        super().sync_directory(path)

    def sync_filesystem(self, path: str) -> None:
        self._trouble.insist(self._disk(path))
        super().sync_filesystem(path)

    def rename(self, source: str, target: str) -> None:
        self._trouble.insist(self._disk(target))
        super().rename(source, target)

    def remove(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._trouble.insist(self._disk(path))
            super().remove([path])

    def remove_empty_directory(self, path: str) -> None:
        self._trouble.insist(self._disk(path))
        super().remove_empty_directory(path)
