"""The directories of `kcompat start --memory`: created in shared memory, removed at the end.

A command that is killed cannot remove its directory; the next command does. Locks show whether a directory is
in use: the command locks the directory itself from the start, and each broker the lock file of its data
directory. The brokers of `--processes` may outlive their command by some seconds.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kcompat import capabilities
from kcompat.log.files import FILES, OpenFile
from kcompat.log.names import LOCK

if TYPE_CHECKING:
    from collections.abc import Iterator

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - a file system in memory, where there is one

PREFIX = "kcompat-memory-"
"""Prefix of the names of these directories and of no others, since they are removed without confirmation."""

_OURS = re.compile(re.escape(PREFIX) + r"[a-z0-9_]{8}")


def memory_directory() -> Path:
    """Return the directory of shared memory, or else that of temporary files."""
    has_shared_memory = not capabilities.PORTABLE and os.access(SHARED_MEMORY, os.W_OK)
    return SHARED_MEMORY if has_shared_memory else Path(tempfile.gettempdir())


@contextmanager
def new_directory(parent: Path) -> Iterator[Path]:
    """Yield a new data directory in `parent`, locked, and remove it at the end.

    Directories that killed commands left in `parent` are removed first.
    """
    remove_left_directories(parent)
    lock = None
    while lock is None:  # another command may find the directory, and remove it, before it is locked
        directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        lock = _lock(directory)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        del lock


def remove_left_directories(parent: Path) -> None:
    """Remove the directories of this user in which neither a command nor a broker holds a lock."""
    for directory in parent.iterdir():
        if _OURS.fullmatch(directory.name) and (lock := _lock(directory)) is not None:
            with suppress(OSError):
                files = [*directory.glob(LOCK), *directory.glob(f"*/{LOCK}")]  # of one broker, or of several
                held = [FILES.lock(str(file)) for file in files]
                if None not in held:
                    shutil.rmtree(directory, ignore_errors=True)
                del held
            del lock


def _lock(directory: Path) -> OpenFile | None:
    """Lock a directory of this user for as long as the result lives.

    Returns None where another process has locked or removed the directory, and for links and directories of
    other users.
    """
    try:
        opened = OpenFile(os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW))
        fcntl.flock(opened.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        ours, named = os.fstat(opened.fd), directory.lstat()
    except OSError:
        return None
    is_there = (ours.st_dev, ours.st_ino) == (named.st_dev, named.st_ino)
    return opened if is_there and ours.st_uid == os.geteuid() else None
