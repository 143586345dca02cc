"""The port to the file system: every file operation of a log goes through `Files`.

Tests replace it with a `Files` whose writes stop short or fail; its callers must then leave a directory that
can be recovered. Reads and writes are positioned and unbuffered: written data survives the end of the process
once the write has returned.
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
"""Size in bytes from which a file reserves room on the disk ahead of its end."""
_MAX_RESERVE: Final = 16 << 20

_MAX_READ = 1 << 30


class OpenFile:
    """An open file descriptor, closed when the last reference to it is gone.

    A fetch that is being sent keeps the file of a segment open even if the segment is deleted meanwhile.
    """

    __slots__ = ("fd", "reserved")

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.reserved = RESERVE_FROM
        """Position from which appends call `Files.reserve` first."""

    @property
    def has_reserve(self) -> bool:
        """Whether the file may have room on the disk beyond its end."""
        return self.reserved > RESERVE_FROM

    def fileno(self) -> int:
        """Return the descriptor; valid as long as this object lives."""
        return self.fd

    def __del__(self) -> None:
        try:  # noqa: SIM105 - half the cost of contextlib.suppress, for every file that is opened
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
        """Return the descriptor of the file; valid as long as this range lives."""
        return self.file.fd

    def read(self) -> bytes:
        """Read the bytes of the range. OSError passes through."""
        return pread_all(self.file, self.length, self.position)


def pread_all(file: OpenFile, length: int, position: int) -> bytes:
    """Read `length` bytes at `position`; fewer only at the end of the file."""
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
    """System calls on files, with interrupted and partial calls already handled. Errors are OSError."""

    def write(self, fd: int, data: Readable, position: int) -> int:
        """Do one positioned write, which may stop short, and return the number of bytes written.

        Tests inject faults here.
        """
        return os.pwrite(fd, data, position)

    def write_all(self, file: OpenFile, data: Readable, position: int) -> None:
        """Write all of `data` at `position`, or truncate the file to `position` and raise."""
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
        """Open a file for reading and writing, creating it if it is missing."""
        return OpenFile(os.open(path, os.O_RDWR | os.O_CREAT, 0o644))

    def open_existing(self, path: str) -> OpenFile:
        """Open an existing file for reading and writing."""
        return OpenFile(os.open(path, os.O_RDWR))

    def open_readonly(self, path: str) -> OpenFile:
        """Open an existing file for reading; it may be write-protected."""
        return OpenFile(os.open(path, os.O_RDONLY))

    def read_file(self, path: str) -> bytes:
        """Return the content of a file; meant for small ones (checkpoints, snapshots)."""
        file = self.open_readonly(path)
        try:
            return pread_all(file, os.fstat(file.fd).st_size, 0)
        except OSError as error:
            error.filename = path  # the system call knows the descriptor only
            raise

    def write_file(self, path: str, data: bytes, *, sync: bool = False) -> None:
        """Create or overwrite a file in place.

        The write is not atomic: it is for files that are not read before they are complete.
        """
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
        """Truncate or extend the file to `size` bytes."""
        os.ftruncate(file.fd, size)

    def preallocate(self, file: OpenFile, size: int) -> None:
        """Reserve `size` bytes on disk (`log.preallocate`)."""
        system_calls.allocate(file.fd, size)

    def reserve(self, file: OpenFile, position: int) -> None:
        """Ask the file system for room from `position`, the file's end, on: as much as the file holds, 1 to
        16 MiB.

        The file's size does not change; `truncate` to that size gives the room back. Room found in one call
        costs far less than room found block by block in each write. Nothing happens on systems that cannot
        reserve room.
        """
        length = min(max(position, RESERVE_FROM), _MAX_RESERVE)
        file.reserved = position + length
        self._find_room(file.fd, position, length)

    _find_room = staticmethod(system_calls.reserve)
    """System call that `reserve` uses."""

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
        """Return the length of a file in bytes; None if there is no such file."""
        try:
            return os.stat(path).st_size
        except FileNotFoundError:
            return None

    def modified_ms(self, path: str) -> int:
        """Return the time of the last change in ms since the epoch."""
        return os.stat(path).st_mtime_ns // 1_000_000

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        """Set the time of the last change, in ms since the epoch."""
        os.utime(path, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))

    def exists(self, path: str) -> bool:
        """Return whether a file or directory of this name exists."""
        return os.path.lexists(path)

    def is_directory(self, path: str) -> bool:
        """Return whether a directory of this name exists."""
        return os.path.isdir(path)

    def list(self, path: str) -> list[str]:
        """Return the names in a directory, sorted."""
        return sorted(os.listdir(path))

    def make_directory(self, path: str) -> None:
        """Create one directory. Raises FileExistsError if it exists."""
        os.mkdir(path, 0o755)

    def make_directories(self, path: str) -> None:
        """Create a directory and its missing parents."""
        os.makedirs(path, 0o755, exist_ok=True)

    def lock(self, path: str) -> OpenFile | None:
        """Lock a file for as long as the result lives; return None if another process, or another owner in
        this one, holds the lock.

        A JVM broker respects POSIX locks, another opener in this process BSD locks. On Linux both are taken,
        as neither kind excludes the other; elsewhere one lock excludes both kinds.
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
        """Release a lock at once, even where a forked child has inherited the descriptor."""
        fcntl.flock(lock.fd, fcntl.LOCK_UN)

    def volume_bytes(self, path: str) -> tuple[int, int]:
        """Return the total and usable bytes of the volume that holds `path`."""
        volume = os.statvfs(path)
        return volume.f_blocks * volume.f_frsize, volume.f_bavail * volume.f_frsize

    def sync_filesystem(self, path: str) -> None:
        """Force everything written below `path` to the device; on Linux one call does it for any number of
        files.
        """
        system_calls.sync_filesystem(path)

    def rename(self, source: str, target: str) -> None:
        """Rename a file or directory, replacing one that has the target's name."""
        os.replace(source, target)

    def copy(self, source: str, target: str) -> None:
        """Copy the content of a file to a new one."""
        from shutil import copyfile  # here, as it takes half a megabyte and only moved replicas are copied

        copyfile(source, target)

    def remove(self, paths: Iterable[str]) -> None:
        """Unlink files; missing ones are ignored."""
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def remove_empty_directory(self, path: str) -> None:
        """Remove an empty directory; needs no file descriptor."""
        os.rmdir(path)

    def remove_tree(self, path: str) -> None:
        """Remove a directory and its content; what is already missing is ignored."""
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(path):
                os.unlink(os.path.join(path, name))
            os.rmdir(path)


FILES = Files()
