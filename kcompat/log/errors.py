"""Faults of the storage, mapped once at the edge: a failed disk, and a directory that must not be used."""

from __future__ import annotations


class StorageError(Exception):
    """The operating system refused a read or a write below `directory` (KAFKA_STORAGE_ERROR to a client)."""

    def __init__(self, directory: str, cause: OSError | str) -> None:
        super().__init__(f"storage fault in {directory}: {cause}")
        self.directory = directory
        self.cause = cause


class LogDirectoryError(Exception):
    """A log directory cannot be used: taken by another process, or written by another broker or cluster."""
