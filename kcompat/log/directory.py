"""One log directory (`log.dirs`): its lock, its identity, its checkpoints, and the logs in it."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from kcompat.log.checkpoint_files import CheckpointFiles
from kcompat.log.checkpoints import (
    CheckpointDamaged,
    format_clean_shutdown,
    parse_properties,
    read_optional,
)
from kcompat.log.context import LogContext
from kcompat.log.errors import LogDirectoryError, StorageError
from kcompat.log.files import FILES
from kcompat.log.identity import Identity, store_identity
from kcompat.log.names import (
    CLEAN_SHUTDOWN,
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOCK,
    LOG_STARTS,
    META_PROPERTIES,
    RECOVERY_POINTS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kcompat.clock import Clock
    from kcompat.log.checkpoint_files import Offsets
    from kcompat.log.files import Files, OpenFile
    from kcompat.log.log import Log
    from kcompat.worker import Worker

logger = logging.getLogger(__name__)

META_VERSIONS = ("0", "1")
"""Versions of `meta.properties` that Kafka writes with ZooKeeper, and with KRaft (MetaPropertiesVersion)."""
_UNKNOWN_OWNER = "restore that file, or name another directory, since the logs here may be another broker's"


class LogDirectory(LogContext):
    """A log directory of the broker.

    `offline` is the fault that took it out of service, None while it serves.
    """

    def __init__(self, path: str, clock: Clock, worker: Worker, syncer: Worker, files: Files = FILES) -> None:
        super().__init__(path, files)
        self._clock = clock
        self._worker = worker
        self._syncer = syncer
        self._lock: OpenFile | None = None
        self._checkpoints = CheckpointFiles(self)
        self._loaded = False
        self.on_offline: Callable[[], object] | None = None
        """Called on the event loop, soon after a fault has taken the directory out of service."""
        self.names_changed = False
        """Whether a partition's directory was renamed and the new name is not synced."""
        self._logs: dict[tuple[str, int], Log] = {}
        self.recovery_points: Offsets = {}
        self.log_starts: Offsets = {}
        self.high_watermarks: Offsets = {}
        self.cleaner_offsets: Offsets = {}
        self.was_clean = False

    # -- identity --------------------------------------------------------------------------------------------

    def claim(self, broker_id: int, cluster_id: str) -> None:
        """Create the directory if it does not exist, lock it, and check that it belongs to this broker and
        cluster.

        Raises LogDirectoryError with a sentence for the user, and OSError if a file operation fails.
        """
        self.files.make_directories(self.path)
        self._lock = self.files.lock(f"{self.path}/{LOCK}")
        if self._lock is None:
            raise LogDirectoryError(
                f"The log directory {self.path} is in use by another broker process. "
                "Stop that one first, or give this one a directory of its own."
            )
        try:
            self._check_identity(broker_id, cluster_id)
        except (OSError, LogDirectoryError):
            self._unlock()
            raise

    def _check_identity(self, broker_id: int, cluster_id: str) -> None:
        path = f"{self.path}/{META_PROPERTIES}"
        data = read_optional(self.files, path)
        if data is None:
            store_identity([self.path], Identity(broker_id, cluster_id), self.files)
            return
        try:
            properties = parse_properties(data)
        except CheckpointDamaged as damage:
            raise LogDirectoryError(f"{path} is damaged ({damage}): {_UNKNOWN_OWNER}") from damage
        version = properties.get("version")
        if version not in META_VERSIONS:
            found = "no version" if version is None else f"version={version}"
            raise LogDirectoryError(f"{path} has {found}, where Kafka writes 0 or 1: {_UNKNOWN_OWNER}")
        known_broker = properties.get("broker.id", properties.get("node.id"))
        if known_broker is not None and known_broker != str(broker_id):
            raise LogDirectoryError(
                f"The logs in {self.path} belong to broker {known_broker}, but this is broker {broker_id}."
            )
        known_cluster = properties.get("cluster.id")
        if known_cluster is not None and known_cluster != cluster_id:
            raise LogDirectoryError(
                f"The logs in {self.path} belong to cluster {known_cluster}, "
                f"but this broker is part of cluster {cluster_id}."
            )

    # -- start and stop --------------------------------------------------------------------------------------

    def begin_loading(self) -> None:
        """Read the checkpoints and whether the last run ended cleanly; from now on a crash counts as unclean
        (KAFKA-10471).
        """
        marker = f"{self.path}/{CLEAN_SHUTDOWN}"
        self.was_clean = self.files.exists(marker)
        if self.was_clean:
            self.files.remove([marker])
            self.files.sync_directory(self.path)
        recovery_points = self._checkpoints.read(RECOVERY_POINTS)
        self.was_clean = self.was_clean and recovery_points is not None
        self.recovery_points = recovery_points or {}
        self.log_starts = self._checkpoints.read(LOG_STARTS) or {}
        self.high_watermarks = self._checkpoints.read(HIGH_WATERMARKS) or {}
        self.cleaner_offsets = self._checkpoints.read(CLEANER_OFFSETS) or {}

    def end_loading(self) -> None:
        """Mark all logs as loaded, so that `close` may record a clean stop."""
        self._loaded = True

    def close(self) -> None:
        """Flush all logs, write the checkpoints, record the clean stop, and unlock; after a fault no clean
        stop is recorded.
        """
        try:
            if self._loaded and self.offline is None:
                self._close_logs()
        except (OSError, StorageError) as error:
            logger.warning("the log directory %s was not closed cleanly: %s", self.path, error)
        finally:
            self._logs.clear()
            self._unlock()

    def _close_logs(self) -> None:
        sound = not any(log.is_failed for log in self._logs.values())
        whole = all(log.hole is None for log in self._logs.values())
        for log in self._logs.values():
            log.close(sync=False)
        self.files.sync_filesystem(self.path)
        if sound:
            self._checkpoints.replace(RECOVERY_POINTS, self._recovery_points())
            self._checkpoints.replace(LOG_STARTS, self._log_starts())
            if whole:
                self.files.replace_file(f"{self.path}/{CLEAN_SHUTDOWN}", format_clean_shutdown(-1), sync=True)

    def fault(self, error: OSError) -> StorageError:
        """Report a failed operation from any thread; `on_offline` is called on the event loop if the
        directory goes offline.
        """
        was_offline = self.offline is not None
        fault = super().fault(error)
        if self.offline is not None and not was_offline:
            self._clock.call_from_thread(self._say_offline)
        return fault

    def _say_offline(self) -> None:
        if self.on_offline is not None:
            self.on_offline()

    def take_offline(self, error: OSError) -> None:
        """Put the directory out of service because it cannot be claimed or loaded."""
        self.offline = StorageError(self.path, error)
        logger.error("%s", self.offline)

    def abandon(self) -> None:
        """Unlock the directory and write nothing more: a start has failed, or the broker is abandoned."""
        self.offline = self.offline or StorageError(self.path, "the broker has let go of it")
        self._logs.clear()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            self.files.unlock(self._lock)
            self._lock = None

    # -- logs ------------------------------------------------------------------------------------------------

    @property
    def logs(self) -> Iterable[Log]:
        """The logs in this directory."""
        return self._logs.values()

    def count(self) -> int:
        """Return number of logs in the directory."""
        return len(self._logs)

    def add(self, log: Log) -> None:
        """Register a log of this directory."""
        self._logs[log.topic, log.partition] = log

    def discard(self, log: Log) -> None:
        """Unregister a log. Its entries may stay in the checkpoint files until `forget_earlier`."""
        key = log.topic, log.partition
        self._logs.pop(key, None)
        self._forget_offsets(key)

    def forget_earlier(self, topic: str, partition: int) -> None:
        """Remove the checkpoint entries of an earlier log of this partition.

        A new log is about to be created, which must not begin, or count as compacted or synced, where the
        earlier one did. Raises StorageError. The entries are removed here and not at the earlier log's
        deletion: the deletion of many logs then costs no writes and succeeds on a full disk. Entries that a
        crash left behind are removed as well.
        """
        key = topic, partition
        self._forget_offsets(key)
        with self.faults():
            self._checkpoints.forget(key, self._logs)

    def _forget_offsets(self, key: tuple[str, int]) -> None:
        for offsets in (self.recovery_points, self.log_starts, self.high_watermarks, self.cleaner_offsets):
            offsets.pop(key, None)

    def volume_bytes(self) -> tuple[int, int]:
        """Return the total and usable bytes of the volume (KIP-827). Raises StorageError."""
        with self.faults():
            return self.files.volume_bytes(self.path)

    # -- checkpoints -----------------------------------------------------------------------------------------

    def checkpoint_recovery_points(self) -> None:
        """Store the recovery point of each log, in the background."""
        self._checkpoints.replace_aside(RECOVERY_POINTS, self._recovery_points())

    def checkpoint_log_starts(self) -> None:
        """Store now the start of each log that does not start at a segment's base offset."""
        self._checkpoints.replace(LOG_STARTS, self._log_starts())

    def checkpoint_high_watermarks(self, high_watermarks: Mapping[tuple[str, int], int]) -> None:
        """Store the high watermarks of the logs in this directory, in the background."""
        mine = {
            # a copy may still end below the high watermark
            key: min(high_watermarks[key], log.log_end_offset)
            for key, log in self._logs.items()
            if key in high_watermarks
        }
        self._checkpoints.replace_aside(HIGH_WATERMARKS, mine)

    def checkpoint_cleaner_offsets(self) -> None:
        """Store the offset up to which each log is compacted, in the background."""
        self._checkpoints.replace_aside(CLEANER_OFFSETS, self._cleaner_offsets())

    def take_clean_offset(self, log: Log, source: LogDirectory) -> None:
        """Take over the offset up to which a log is compacted, from the directory that the log has moved
        from.
        """
        offset = source.cleaner_offsets.pop((log.topic, log.partition), None)
        if offset is not None:
            self.cleaner_offsets[log.topic, log.partition] = offset
            self.checkpoint_cleaner_offsets()
            source.checkpoint_cleaner_offsets()

    def log_start_moved(self) -> None:
        self.checkpoint_log_starts()

    def log_cut(self) -> None:
        self._worker.close()  # an older checkpoint that is still being written must not replace this one
        self.cleaner_offsets = self._cleaner_offsets()
        if self.cleaner_offsets:
            self._checkpoints.replace(CLEANER_OFFSETS, self.cleaner_offsets)
        self._checkpoints.replace(RECOVERY_POINTS, self._recovery_points(), sync=True)

    def _cleaner_offsets(self) -> Offsets:
        """Return the offset up to which each log in this directory is compacted, at most the log end."""
        return {
            key: min(offset, self._logs[key].log_end_offset)
            for key, offset in self.cleaner_offsets.items()
            if key in self._logs
        }

    def _recovery_points(self) -> Offsets:
        return {key: log.recovery_point for key, log in self._logs.items()}

    def _log_starts(self) -> Offsets:
        return {
            key: log.log_start_offset
            for key, log in self._logs.items()
            if log.log_start_offset > log.local.segments.first_base_offset
        }

    # -- background ------------------------------------------------------------------------------------------

    def run(self, work: Callable[[], object]) -> None:
        """Run slow system calls on the storage thread. `work` must not raise."""
        self._worker.submit(work)

    def soon(self, callback: Callable[[], object]) -> None:
        self._clock.call_later(0, callback)

    def sync(self, work: Callable[[], object], then: Callable[[], object]) -> None:
        """Run a sync on one of the sync threads, then call `then` on the loop. `work` must not raise."""

        def run() -> None:
            try:
                work()
            finally:
                self._clock.call_from_thread(then)

        self._syncer.submit(run)

    def delete_later(self, paths: list[str], delay_ms: int) -> None:
        """Unlink files after a delay in ms. A stop before the delay is over leaves them to the next start."""
        if paths:
            self._later(delay_ms, partial(self.files.remove, paths))

    def delete_tree_later(self, path: str, delay_ms: int) -> None:
        """Remove a partition's directory after a delay in ms; it was already renamed as deleted."""
        self._later(delay_ms, partial(self.files.remove_tree, path))

    def sync_names(self) -> None:
        """Force the changed names of partitions' directories to the device. Raises StorageError."""
        if self.names_changed:
            with self.faults():
                self.files.sync_directory(self.path)
            self.names_changed = False

    def _later(self, delay_ms: int, work: Callable[[], object]) -> None:
        def guarded() -> None:
            try:
                work()
            except OSError as error:
                logger.warning("files in %s were not removed: %s", self.path, error)

        self._clock.call_later(delay_ms, partial(self.run, guarded))
