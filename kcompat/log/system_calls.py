"""System calls of `Files` that only some systems have, each with a portable implementation.

`Files` uses the names at the end of this module. Errors are OSError.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from kcompat import capabilities

if TYPE_CHECKING:
    from ctypes import CDLL

_FULL_SYNC: Final[int] = getattr(fcntl, "F_FULLFSYNC", -1)
_KEEP_SIZE: Final = 1  # FALLOC_FL_KEEP_SIZE


@cache
def _libc() -> CDLL:
    """Return the C library, for system calls that Python does not offer."""
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


# -- room on the disk ----------------------------------------------------------------------------------------


def allocate_blocks(fd: int, size: int) -> None:
    """Make the file at least `size` bytes long, and reserve room on the disk for all of them."""
    os.posix_fallocate(fd, 0, size)


def extend(fd: int, size: int) -> None:
    """Make the file at least `size` bytes long, perhaps without room on the disk for them, as Kafka does."""
    if os.fstat(fd).st_size < size:
        os.ftruncate(fd, size)


def reserve_blocks(fd: int, position: int, length: int, library: object | None = None) -> None:
    """Reserve room for `length` bytes from `position` on; the size of the file does not change.

    `library` replaces the process's C library. Nothing happens where the system cannot do this, or where
    there is no disk (tmpfs would take memory and time for it).
    """
    if os.major(os.fstat(fd).st_dev):
        from ctypes import c_int64

        with contextlib.suppress(AttributeError):  # a C library without that call
            calls: Any = library or _libc()
            calls.fallocate64(fd, _KEEP_SIZE, c_int64(position), c_int64(length))


def reserve_nothing(fd: int, position: int, length: int) -> None:
    """Do nothing: each write then finds its own room."""


# -- to the device -------------------------------------------------------------------------------------------


def sync_bytes(fd: int) -> None:
    """Force a file's bytes to the device, with the metadata needed to read them back."""
    os.fdatasync(fd)


def sync_all(fd: int) -> None:
    """Force a file's bytes, or a directory's names, and all metadata to the device."""
    os.fsync(fd)


def sync_through(fd: int) -> None:
    """Force a file's bytes through the cache of the device, where macOS leaves the data of an `fsync`.

    On a file system without that call it does an `fsync`. Java does the same.
    """
    try:
        fcntl.fcntl(fd, _FULL_SYNC)
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
        os.fsync(fd)


def sync_volume(path: str) -> None:
    """Force everything written to the file system of `path` to the device, in one call."""
    from ctypes import get_errno

    fd = os.open(path, os.O_RDONLY)
    try:
        if _libc().syncfs(fd) != 0:
            raise OSError(get_errno(), "syncfs failed", path)
    finally:
        os.close(fd)


def sync_tree(path: str) -> None:
    """Force all files and directories below `path` to the device one by one; deleted ones are ignored.

    `os.sync` is no alternative: it waits for the device on Linux alone.
    """
    with contextlib.suppress(FileNotFoundError), os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                sync_tree(entry.path)
            elif entry.is_file(follow_symlinks=False):
                _sync_path(entry.path)
    _sync_path(path)


def _sync_path(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        fd = os.open(path, os.O_RDONLY)
        try:
            sync(fd)
        finally:
            os.close(fd)


# -- the choice of implementations -----------------------------------------------------------------------

allocate = allocate_blocks if capabilities.has(os, "posix_fallocate") else extend
reserve = reserve_blocks if capabilities.LINUX else reserve_nothing
sync = sync_through if capabilities.has(fcntl, "F_FULLFSYNC") else sync_all
sync_data = sync_bytes if capabilities.has(os, "fdatasync") else sync
sync_filesystem = sync_volume if capabilities.LINUX else sync_tree
