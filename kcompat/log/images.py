"""Images of logs: the content of a log at one time, which can be restored later.

An image of a log with records has copies of its files. A log that has not changed since its image was made
is used as it is, and one that has changed is loaded from the copies.
"""

from __future__ import annotations

import os
import shutil
import weakref
from typing import TYPE_CHECKING

from kcompat.log.checkpoints import format_epochs, format_partition_metadata
from kcompat.log.durability import NONE_WAITS
from kcompat.log.loader import open_log
from kcompat.log.log import Log
from kcompat.log.names import (
    LEADER_EPOCH_CHECKPOINT,
    PARTITION_METADATA,
    partition_directory,
)
from kcompat.log.producer_files import save_snapshot

if TYPE_CHECKING:
    from kcompat.log.config import LogConfig
    from kcompat.log.directory import LogDirectory


class LogImage:
    """One log as it was at one time. Its file copies are removed with the last reference to the image."""

    __slots__ = (
        "__weakref__",
        "_files",
        "_files_at",
        "_state",
        "directory",
        "log_start_offset",
        "topic_id",
    )

    def __init__(self, log: Log, files_at: str) -> None:
        """Make an image of a log. If the log has or had records, its files are copied to the new directory
        `files_at`. Raises OSError.
        """
        self.directory = log.context.path
        """Path of the log directory that has the log."""
        self.topic_id = log.topic_id
        self.log_start_offset = log.log_start_offset
        self._files = log.context.files
        self._files_at = files_at if log.log_end_offset else None
        if self._files_at is not None:
            weakref.finalize(self, _remove, files_at, os.getpid())
            _copy_files(log, files_at)
        self._state = _state_of(log)

    @property
    def is_empty(self) -> bool:
        """Whether the log never had a record."""
        return self._files_at is None

    @property
    def is_lost(self) -> bool:
        """Whether the copies were removed by another program."""
        return self._files_at is not None and not self._files.is_directory(self._files_at)

    def shows(self, log: Log) -> bool:
        """Return whether a log is usable, and unchanged since the image was made or last loaded."""
        is_at_rest = log.durability.unsynced_from == NONE_WAITS
        return is_at_rest and not log.is_failed and self._state == _state_of(log)

    def load(self, key: tuple[str, int], directory: LogDirectory, defaults: LogConfig, now_ms: int) -> Log:
        """Restore the files and return the log; the log's directory must not exist. Raises OSError."""
        assert self._files_at is not None, "an empty log is made anew"
        files, path = directory.files, f"{directory.path}/{partition_directory(*key)}"
        files.make_directory(path)
        for name in files.list(self._files_at):
            files.copy(f"{self._files_at}/{name}", f"{path}/{name}")
        log = open_log(
            path,
            *key,
            defaults,
            now_ms=now_ms,
            log_start_offset=self.log_start_offset,
            clean=True,
            context=directory,
        )
        log.durability.cut(self.log_start_offset)  # the copies were not synced
        self._state = _state_of(log)
        return log


def successor_of(log: Log) -> Log:
    """Return a log with the content of this one, and refuse all further appends to this one."""
    successor = Log.__new__(Log)
    for name in Log.__slots__:
        setattr(successor, name, getattr(log, name))
    log.durability.on_synced = None  # both logs share it: it must not keep the old partition in memory
    log.discard()
    successor.local.segments.active.reopen(log.log_end_offset)
    return successor


def _state_of(log: Log) -> tuple[object, ...]:
    """Return a value that changes with every change of the log that a client can see."""
    return (
        log.topic_id,
        log.log_start_offset,
        log.log_end_offset,
        log.cuts,
        tuple(log.local.segments),
        log.epochs.cache.entries,
        len(log.producer_state.entries),
    )


def _copy_files(log: Log, target: str) -> None:
    """Copy the files that a clean stop of the log would leave, without stopping it."""
    files = log.context.files
    files.make_directories(target)
    log.local.segments.active.flush_indexes()
    for segment in log.local.segments:
        for path in segment.names:
            if files.exists(path):
                # Not a link: a truncation may shorten a segment that is full.
                files.copy(path, f"{target}/{path.rpartition('/')[2]}")
    save_snapshot(files, target, log.log_end_offset, log.producer_state)
    files.write_file(f"{target}/{LEADER_EPOCH_CHECKPOINT}", format_epochs(log.epochs.cache.entries))
    files.write_file(f"{target}/{PARTITION_METADATA}", format_partition_metadata(log.topic_id))


def _remove(directory: str, owner: int) -> None:
    """Remove copies, unless this is a forked child: they are the parent's."""
    if os.getpid() == owner:
        shutil.rmtree(directory, ignore_errors=True)
