"""Temporary directories for embedded brokers without a data directory."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from typing import TYPE_CHECKING

from kcompat.errors import StartError

if TYPE_CHECKING:
    from collections.abc import Callable


def temporary_directory(owner: object) -> tuple[str, Callable[[], object]]:
    """Return a new directory and what removes it, which happens at the latest with its owner or this process.

    Raises:
        StartError: it cannot be made.
    """
    try:
        directory = tempfile.mkdtemp(prefix="kcompat-")
    except OSError as error:
        raise StartError(
            f"No temporary directory can be made ({error.strerror}): set TMPDIR, or give a data_dir"
        ) from error
    return directory, weakref.finalize(owner, _remove, directory, os.getpid())


def _remove(directory: str, owner: int) -> None:
    """Remove a temporary directory, unless this is a forked child: it is the parent's."""
    if os.getpid() == owner:
        shutil.rmtree(directory, ignore_errors=True)
