"""The directories of `kcompat start --memory`: made in shared memory, removed at the end.

A broker that is killed cannot remove its own; the next one does.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kcompat import twins
from kcompat.log.files import FILES
from kcompat.log.names import LOCK

if TYPE_CHECKING:
    from collections.abc import Iterator

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - a file system in memory, where there is one

PREFIX = "kcompat-memory-"
"""Begins the names of these directories and of no others, since they are removed without asking."""

_OURS = re.compile(re.escape(PREFIX) + r"[a-z0-9_]{8}")


def memory_directory() -> Path:
    """Where there is shared memory, that; else where temporary directories are."""
    has_shared_memory = not twins.PORTABLE and os.access(SHARED_MEMORY, os.W_OK)
    return SHARED_MEMORY if has_shared_memory else Path(tempfile.gettempdir())


@contextmanager
def new_directory(parent: Path) -> Iterator[Path]:
    """A new data directory in `parent`, gone at the end, as are those that killed brokers left there."""
    remove_left_directories(parent)
    directory = tempfile.mkdtemp(prefix=PREFIX, dir=parent)
    try:
        yield Path(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def remove_left_directories(parent: Path) -> None:
    """Remove this user's directories whose brokers are dead: nobody holds a lock in them.

    One without a lock file is left alone: its broker may be just about to make that.
    """
    for directory in parent.iterdir():
        with suppress(OSError):
            if _OURS.fullmatch(directory.name) and _is_own_directory(directory):
                locks = [*directory.glob(LOCK), *directory.glob(f"*/{LOCK}")]  # of one broker, or of several
                held = [FILES.lock(str(lock)) for lock in locks]
                if held and None not in held:
                    shutil.rmtree(directory, ignore_errors=True)
                del held


def _is_own_directory(path: Path) -> bool:
    return not path.is_symlink() and path.is_dir() and path.stat().st_uid == os.geteuid()
