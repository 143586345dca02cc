"""The port to the file system: everything that a log does with files goes through `Files`.

Tests put a `Files` in its place whose writes stop short or fail; whoever uses it must then leave a directory
that recovers. Reads and writes are positioned and unbuffered: what a write returned for survives the death of
the process.
"""

# Paths are strings: pathlib costs more than most of these calls.
# ruff: noqa: PTH102, PTH103, PTH105, PTH106, PTH108, PTH112, PTH116, PTH118, PTH120, PTH208

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import sys
from typing import TYPE_CHECKING, Final

import msgspec

from kcompat.log import system_calls

if TYPE_CHECKING:
    from collections.abc import Iterable

    Readable = bytes | bytearray | memoryview

RESERVE_FROM: Final = 1 << 20
"""Bytes a file holds before room is reserved ahead of it."""
_MAX_RESERVE: Final = 16 << 20

_MAX_READ = 1 << 30


class OpenFile:
    """An open file descriptor, closed when the last holder lets go of it.

    A fetch that is being sent keeps the file of a segment open although the segment was deleted meanwhile.
    """

    __slots__ = ("fd", "reserved")

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.reserved = RESERVE_FROM
        """Appends that end beyond this position call `Files.reserve` first."""

    @property
    def has_reserve(self) -> bool:
        """Whether the file may have room on the disk beyond its end."""
        return self.reserved > RESERVE_FROM

    def fileno(self) -> int:
        """The descriptor; valid as long as this object lives."""
        return self.fd

    def __del__(self) -> None:
        try:  # noqa: SIM105 - half the price of contextlib.suppress, for every file that is opened
            os.close(self.fd)
        except OSError:
            pass


class FileRange(msgspec.Struct, frozen=True, gc=False):
    """`length` bytes of an open file from `position` on, sent with `sendfile` or read when needed."""

    file: OpenFile
    position: int
    length: int

    def __len__(self) -> int:
        return self.length

    def fileno(self) -> int:
        """The descriptor of the file; valid as long as this range lives."""
        return self.file.fd

    def read(self) -> bytes:
        """The bytes. OSError passes through."""
        return pread_all(self.file, self.length, self.position)


def pread_all(file: OpenFile, length: int, position: int) -> bytes:
    """Read `length` bytes at `position`; fewer only where the file ends."""
    fd = file.fd
    data = os.pread(fd, min(length, _MAX_READ), position)
    if len(data) == length or not data:
        return data
    pieces = [data]
    done = len(data)
    while done < length:
        data = os.pread(fd, min(length - done, _MAX_READ), position + done)
        if not data:
            break
        pieces.append(data)
        done += len(data)
    return b"".join(pieces)


class Files:
    """System calls on files, with their awkward outcomes already settled. Errors are OSError."""

    def write(self, fd: int, data: Readable, position: int) -> int:
        """One positioned write, which may stop short; returns how many bytes were written. Tests
        inject faults here.
        """
        return os.pwrite(fd, data, position)

    def write_all(self, file: OpenFile, data: Readable, position: int) -> None:
        """Write all of `data` at `position`, or cut the file back to `position` and raise."""
        fd = file.fd
        try:
            written = self.write(fd, data, position)
            if written == len(data):
                return
            view = memoryview(data)
            while written < len(view):
                more = self.write(fd, view[written:], position + written)
                if more == 0:
                    raise OSError(errno.EIO, "the file takes no more bytes")  # noqa: TRY301
                written += more
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(fd, position)
            raise

    def open(self, path: str) -> OpenFile:
        """Open for reading and writing, creating the file if it is missing."""
        return OpenFile(os.open(path, os.O_RDWR | os.O_CREAT, 0o644))

    def open_existing(self, path: str) -> OpenFile:
        """Open a file that must be there for reading and writing."""
        return OpenFile(os.open(path, os.O_RDWR))

    def open_readonly(self, path: str) -> OpenFile:
        """Open a file that must be there, and perhaps may not be written to, for reading."""
        return OpenFile(os.open(path, os.O_RDONLY))

    def read_file(self, path: str) -> bytes:
        """The whole file; meant for the small ones (checkpoints, snapshots)."""
        file = self.open_readonly(path)
        return pread_all(file, os.fstat(file.fd).st_size, 0)

    def write_file(self, path: str, data: bytes, *, sync: bool = False) -> None:
        """Create or overwrite a file in place; not atomic, for files nobody reads before they are whole."""
        file = OpenFile(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644))
        self.write_all(file, data, 0)
        if sync:
            system_calls.sync(file.fd)

    def replace_file(self, path: str, data: bytes, *, sync: bool) -> None:
        """Replace a file as a whole: write `<path>.tmp`, then rename; `sync` makes it survive a power cut."""
        temporary = path + ".tmp"
        self.write_file(temporary, data, sync=sync)
        self.rename(temporary, path)
        if sync:
            self.sync_directory(os.path.dirname(path))

    def truncate(self, file: OpenFile, size: int) -> None:
        """Cut (or extend) the file to `size` bytes."""
        os.ftruncate(file.fd, size)

    def preallocate(self, file: OpenFile, size: int) -> None:
        """Reserve `size` bytes on disk (`log.preallocate`)."""
        system_calls.allocate(file.fd, size)

    def reserve(self, file: OpenFile, position: int) -> None:
        """Have the file system find room from `position`, the file's end, on: as much as the file holds, 1 to
        16 MiB. Its size stays what it is; cutting it there (`truncate`) gives the room back.

        Found in one go, room costs far less than found block by block in each write. Where that cannot be
        done, nothing happens.
        """
        length = min(max(position, RESERVE_FROM), _MAX_RESERVE)
        file.reserved = position + length
        self._find_room(file.fd, position, length)

    _find_room = staticmethod(system_calls.reserve)
    """The system call of `reserve`."""

    def sync(self, file: OpenFile) -> None:
        """Force the file's bytes to the device."""
        system_calls.sync_data(file.fd)

    def sync_directory(self, path: str) -> None:
        """Force names created, renamed or removed in a directory to the device."""
        fd = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY)
        try:
            system_calls.sync(fd)
        finally:
            os.close(fd)

    def size(self, path: str) -> int | None:
        """Length in bytes; None when there is no such file."""
        try:
            return os.stat(path).st_size
        except FileNotFoundError:
            return None

    def modified_ms(self, path: str) -> int:
        """Time of the last change in ms since the epoch."""
        return os.stat(path).st_mtime_ns // 1_000_000

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        """Set the time of the last change, in ms since the epoch."""
        os.utime(path, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))

    def exists(self, path: str) -> bool:
        """Whether anything has this name."""
        return os.path.lexists(path)

    def is_directory(self, path: str) -> bool:
        """Whether there is a directory of this name."""
        return os.path.isdir(path)

    def list(self, path: str) -> list[str]:
        """Names in a directory, sorted."""
        return sorted(os.listdir(path))

    def make_directory(self, path: str) -> None:
        """Create one directory; FileExistsError if it is there."""
        os.mkdir(path, 0o755)

    def make_directories(self, path: str) -> None:
        """Create a directory and those above it, as far as they are missing."""
        os.makedirs(path, 0o755, exist_ok=True)

    def lock(self, path: str) -> OpenFile | None:
        """Lock a file for as long as the result lives; None if another process, or another owner in this one,
        has it.

        A JVM broker sees POSIX locks, another opener in this process BSD locks. On Linux both are taken, as
        neither knows of the other; elsewhere a lock of one kind excludes those of the other, whoever has it.
        """
        file = self.open(path)
        try:
            fcntl.flock(file.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if sys.platform == "linux":
                fcntl.lockf(file.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        return file

    def unlock(self, lock: OpenFile) -> None:
        """Give a lock back at once, even where a forked child has inherited the descriptor."""
        fcntl.flock(lock.fd, fcntl.LOCK_UN)

    def volume_bytes(self, path: str) -> tuple[int, int]:
        """Total and usable bytes of the volume that holds `path`."""
        volume = os.statvfs(path)
        return volume.f_blocks * volume.f_frsize, volume.f_bavail * volume.f_frsize

    def sync_filesystem(self, path: str) -> None:
        """Force everything written below `path` to the device: one call for any number of files, on Linux."""
        system_calls.sync_filesystem(path)

    def rename(self, source: str, target: str) -> None:
        """Rename, replacing what has the target's name."""
        os.replace(source, target)

    def remove(self, paths: Iterable[str]) -> None:
        """Unlink files; those that are already gone do not matter."""
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def remove_empty_directory(self, path: str) -> None:
        """Remove a directory that holds nothing; needs no file descriptor."""
        os.rmdir(path)

    def remove_tree(self, path: str) -> None:
        """Remove a directory and what it holds; what is already gone does not matter."""
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(path):
                os.unlink(os.path.join(path, name))
            os.rmdir(path)


FILES = Files()
