"""Storage errors: a failing disk, and a log directory that must not be used."""

from __future__ import annotations

import errno
from typing import Final

from kcompat.descriptors import limit_named
from kcompat.errors import StartError

OUT_OF_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Error numbers of temporary faults: the volume is full, or no file can be opened at present."""


class StorageError(Exception):
    """The operating system refused a read or a write below `directory`, or that directory is offline.

    Clients get KAFKA_STORAGE_ERROR.
    """

    def __init__(self, directory: str, cause: OSError | str) -> None:
        is_short = isinstance(cause, OSError) and cause.errno == errno.EMFILE
        hint = f" ({limit_named()})" if is_short else ""
        super().__init__(f"storage fault in {directory}: {cause}{hint}")
        self.directory = directory
        self.cause = cause

    @property
    def passes(self) -> bool:
        """Whether the fault is temporary, so that the same read or write may succeed later."""
        return isinstance(self.cause, OSError) and self.cause.errno in OUT_OF_SPACE


class LogDirectoryError(StartError):
    """A log directory cannot be used: taken by another process, or written by another broker or cluster."""
