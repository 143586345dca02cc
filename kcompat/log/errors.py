"""What can be wrong with storage: a disk that fails, and a log directory that must not be used."""

from __future__ import annotations


class StorageError(Exception):
    """The operating system refused a read or a write below `directory`, or that is out of service.

    A client is told KAFKA_STORAGE_ERROR.
    """

    def __init__(self, directory: str, cause: OSError | str) -> None:
        super().__init__(f"storage fault in {directory}: {cause}")
        self.directory = directory
        self.cause = cause


class LogDirectoryError(Exception):
    """A log directory cannot be used: taken by another process, or written by another broker or cluster."""
