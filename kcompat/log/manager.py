"""All log directories of a broker and the logs in them (Kafka's `LogManager`)."""

from __future__ import annotations

import logging
import os
from collections import deque
from typing import TYPE_CHECKING

from kcompat.faults import contained
from kcompat.log.directory import LogDirectory
from kcompat.log.errors import LogDirectoryError, StorageError
from kcompat.log.future import FutureLogs, reopened
from kcompat.log.housekeeping import in_slices
from kcompat.log.loader import create_log, open_log
from kcompat.log.names import (
    deleted_directory,
    is_deleted_directory,
    parse_future_directory,
    parse_partition_directory,
    partition_directory,
    stray_directory,
)
from kcompat.logger_names import LOG_MANAGER
from kcompat.topics import CLUSTER_METADATA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from random import Random

    from kcompat.clock import Clock
    from kcompat.log.config import LogConfig
    from kcompat.log.files import Files
    from kcompat.log.log import Log
    from kcompat.promise import Promise
    from kcompat.worker import Worker

__all__ = ["LogDirectory", "LogManager"]

logger = logging.getLogger(LOG_MANAGER)

_SLICE_NEW_LOGS = 4
_SYNC_THREADS = 4
"""Number of logs that are synced at the same time for appends waiting for the device (`flush.messages`)."""
_MAKE_DELAY_MS = 50
"""Delay in ms before the directories of new logs are made, so that the creation is answered first."""


class LogManager:
    """The logs of one broker by topic and partition, in one or more directories.

    `open` claims and loads the directories; `close` stops cleanly. Between the two, the event loop is the
    only caller; slow system calls run on one helper thread.
    """

    def __init__(
        self,
        directories: Sequence[Path | str],
        clock: Clock,
        files: Files,
        start_worker: Callable[[str, int], Worker],
        random: Random,
    ) -> None:
        """Take the ports: `start_worker(name, threads)` starts threads for slow calls, `random` draws unique
        names.
        """
        self._clock = clock
        self._random = random
        self._worker = start_worker("kcompat-storage", 1)
        self._syncer = start_worker("kcompat-sync", _SYNC_THREADS)
        self._logs: dict[tuple[str, int], Log] = {}
        self.futures = FutureLogs(clock, random)
        self._unmade: deque[Log] = deque()
        self.directories = [
            LogDirectory(os.path.abspath(path), clock, self._worker, self._syncer, files)  # noqa: PTH100 - shown as in Kafka
            for path in directories
        ]

    # -- start and stop --------------------------------------------------------------------------------------

    def open(self, broker_id: int, cluster_id: str, defaults: LogConfig) -> None:
        """Claim every directory and load its logs.

        The logs use the broker's `defaults` until their topics' configurations are known
        (`Log.update_config`). A directory with a disk fault goes offline while others serve. Raises
        LogDirectoryError with a sentence for the user when a directory is in use or foreign, or when none can
        be used.
        """
        try:
            for directory in self.directories:
                self._claim(directory, broker_id, cluster_id)
            for directory in self._online():
                self._load_directory(directory, defaults)
            self._insist_on_one()
        except BaseException:
            for directory in self.directories:
                directory.abandon()
            raise

    def _insist_on_one(self) -> None:
        if not self._online():
            faults = "; ".join(str(directory.offline) for directory in self.directories)
            raise LogDirectoryError(f"No log directory can be used: {faults}.")

    def _claim(self, directory: LogDirectory, broker_id: int, cluster_id: str) -> None:
        try:
            directory.claim(broker_id, cluster_id)
        except OSError as error:
            directory.take_offline(error)

    def _load_directory(self, directory: LogDirectory, defaults: LogConfig) -> None:
        try:
            directory.begin_loading()
            for name in directory.files.list(directory.path):
                parsed = parse_partition_directory(name)
                future = parse_future_directory(name)
                if parsed is not None and parsed[0] != CLUSTER_METADATA:
                    self._load(directory, *parsed, defaults)
                elif future is not None:
                    self._load_future(directory, name, *future, defaults)
                elif is_deleted_directory(name):
                    directory.delete_tree_later(f"{directory.path}/{name}", defaults.file_delete_delay_ms)
        except OSError as error:
            directory.take_offline(error)
        else:
            directory.end_loading()
            if directory.count():
                ending = "a clean" if directory.was_clean else "an unclean"
                logger.info("loaded %d logs from %s after %s stop", directory.count(), directory.path, ending)

    def _load(self, directory: LogDirectory, topic: str, partition: int, config: LogConfig) -> None:
        key = topic, partition
        path = f"{directory.path}/{partition_directory(topic, partition)}"
        other = self._logs.get(key)
        if other is not None:
            raise LogDirectoryError(
                f"Of {other.directory} and {path} only one can be the partition's log: delete the one in the "
                "log directory that has failed, or that it was being moved from."
            )
        self._logs[key] = self._open(directory, path, *key, config)

    def _load_future(
        self, directory: LogDirectory, name: str, topic: str, partition: int, config: LogConfig
    ) -> None:
        current = self._logs.get((topic, partition))
        if current is not None and current.context is directory:
            logger.warning(
                "%s/%s is left alone: the log itself is in the same directory", directory.path, name
            )
        else:
            self.futures.load(self._open(directory, f"{directory.path}/{name}", topic, partition, config))

    def _open(self, directory: LogDirectory, path: str, topic: str, partition: int, config: LogConfig) -> Log:
        key = topic, partition
        log = open_log(
            path,
            topic,
            partition,
            config,
            now_ms=self._clock.now_ms(),
            recovery_point=directory.recovery_points.get(key, 0),
            log_start_offset=directory.log_starts.get(key, 0),
            clean=directory.was_clean,
            context=directory,
        )
        directory.add(log)
        return log

    def close(self) -> None:
        """Close all logs, write the checkpoints, record the clean stop, and unlock."""
        self._syncer.close()
        self._worker.close()
        for directory in self.directories:
            directory.close()
        self._logs.clear()
        self.futures.clear()

    def abandon(self) -> None:
        """Release all directories without writing anything more, as if the process had ended."""
        for log in (*self._logs.values(), *self.futures):
            log.discard()
        for directory in self.directories:
            directory.abandon()
        self._syncer.close()
        self._worker.close()
        self._logs.clear()
        self.futures.clear()

    # -- logs ------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Log]:
        return iter(list(self._logs.values()))

    def get(self, topic: str, partition: int) -> Log | None:
        """Return the log of a partition; None if this broker has none."""
        return self._logs.get((topic, partition))

    def create(self, topic: str, partition: int, topic_id: bytes, config: LogConfig) -> Log:
        """Create a log in the requested directory (`futures.prefer`), or else in the one with the fewest
        logs.

        Raises StorageError if that directory, or every one, is offline. The directory of the log is made a
        little later, or with its first append, as making many takes long. If a crash comes first, the
        controller requests the log again.
        """
        online = [directory for directory in self.directories if directory.offline is None]
        if not online:
            raise StorageError(self.directories[0].path, "all log directories are offline")
        preferred = self.directory(self.futures.take_preferred(topic, partition))
        directory = min(online, key=LogDirectory.count) if preferred is None else preferred
        if directory.offline is not None:
            raise directory.offline
        directory.forget_earlier(topic, partition)
        path = f"{directory.path}/{partition_directory(topic, partition)}"
        now_ms = self._clock.now_ms()
        log = create_log(path, topic, partition, config, topic_id=topic_id, now_ms=now_ms, context=directory)
        self.put(directory, log)
        if not self._unmade:
            self._clock.call_later(_MAKE_DELAY_MS, self._make_some)
        self._unmade.append(log)
        return log

    def put(self, directory: LogDirectory, log: Log) -> None:
        """Make `log`, in this directory, the log of its partition."""
        directory.add(log)
        self._logs[log.topic, log.partition] = log

    def insist_on_all(self) -> None:
        """Raise StorageError if a directory is offline: it may hold the missing log, which must not begin
        anew elsewhere.
        """
        for directory in self.directories:
            if directory.offline is not None:
                raise StorageError(directory.path, "its log may be there, where nothing can be read")

    def _make_some(self) -> None:
        """Make the directories of a few new logs, and the rest in later iterations of the event loop."""
        for _ in range(min(_SLICE_NEW_LOGS, len(self._unmade))):
            log = self._unmade.popleft()
            if not log.is_failed:
                with contained(f"making the log {log.directory}"):
                    try:
                        log.make()
                    except OSError as error:
                        logger.warning("%s", log.context.fault(error))
        if self._unmade:
            self._clock.call_later(0, self._make_some)

    def delete(self, topic: str, partition: int, delay_ms: int | None = None) -> None:
        """Delete a partition's log and its future log; the files are removed after `delay_ms`, by default
        `file.delete.delay.ms`. Raises StorageError.
        """
        self._delete(self._logs.pop((topic, partition), None), delay_ms)
        self._delete(self.futures.forget(topic, partition), delay_ms)

    def delete_future(self, topic: str, partition: int) -> None:
        """Delete the future log of a partition. Raises StorageError."""
        self._delete(self.futures.forget(topic, partition))

    def _delete(self, log: Log | None, delay_ms: int | None = None) -> None:
        if log is None:
            return
        name = deleted_directory(log.topic, log.partition, self._random)
        if self._put_away(log, name):
            directory = self._directory_of(log)
            delay_ms = log.config.file_delete_delay_ms if delay_ms is None else delay_ms
            directory.delete_tree_later(f"{directory.path}/{name}", delay_ms)

    def set_aside(self, log: Log, reason: str) -> None:
        """Take a log that does not belong to the partition out of service; its files are kept for the user.

        Raises StorageError.
        """
        name = stray_directory(log.topic, log.partition, self._random)
        logger.warning("%s %s: set aside as %s", log.directory, reason, name)
        if self.futures.get(log.topic, log.partition) is log:
            self.futures.forget(log.topic, log.partition)
        else:
            del self._logs[log.topic, log.partition]
        self._put_away(log, name)

    def _put_away(self, log: Log, name: str) -> bool:
        """Rename the directory of a log that is out of service; return False if it was never made."""
        directory = self._directory_of(log)
        directory.discard(log)
        log.discard()
        if not log.is_made:
            return False
        with directory.faults():
            directory.files.rename(log.directory, f"{directory.path}/{name}")
        directory.names_changed = True
        return True

    def replace_with_future(self, topic: str, partition: int) -> Log:
        """Replace a partition's log with its future log, which has caught up, and return the latter.

        The files of the old log are removed after `file.delete.delay.ms`. Raises StorageError if the future
        log cannot be used; then nothing has changed, or its directory is offline.
        """
        key = topic, partition
        current, future = self._logs[key], self.futures.get(topic, partition)
        assert future is not None, "the log is to be moved"
        source, target = self._directory_of(current), self._directory_of(future)
        path = f"{target.path}/{partition_directory(topic, partition)}"
        log = reopened(future, target, path, self._clock.now_ms())
        self.put(target, log)
        target.take_clean_offset(log, source)
        self.futures.forget(topic, partition)
        try:
            self._delete(current)
        except StorageError as fault:
            logger.error("%s could not be set aside: %s", current.directory, fault)  # noqa: TRY400
        return log

    def sync_names(self) -> None:
        """Sync the new names of deleted logs: only then may the cluster forget a deleted topic.

        Raises StorageError.
        """
        for directory in self._online():
            directory.sync_names()

    def directory(self, path: str | None) -> LogDirectory | None:
        """Return the log directory of this path; None if there is none."""
        return next((directory for directory in self.directories if directory.path == path), None)

    def _directory_of(self, log: Log) -> LogDirectory:
        return next(directory for directory in self.directories if directory is log.context)

    # -- checkpoints -----------------------------------------------------------------------------------------

    def high_watermark(self, log: Log) -> int:
        """Return the high watermark of a log that the last run stored; 0 if there is none."""
        return self._directory_of(log).high_watermarks.get((log.topic, log.partition), 0)

    def checkpoint_high_watermarks(self, high_watermarks: Mapping[tuple[str, int], int]) -> None:
        """Store high watermarks (`replica.high.watermark.checkpoint.interval.ms`).

        Unchanged ones are not written.
        """
        for directory in self._online():
            directory.checkpoint_high_watermarks(high_watermarks)

    def checkpoint_recovery_points(self) -> None:
        """Store the recovery points of the logs (`log.flush.offset.checkpoint.interval.ms`)."""
        for directory in self._online():
            directory.checkpoint_recovery_points()

    def checkpoint_log_starts(self) -> None:
        """Store the start offsets of the logs (`log.flush.start.offset.checkpoint.interval.ms`)."""
        for directory in self._online():
            try:
                directory.checkpoint_log_starts()
            except OSError as error:
                logger.warning("%s", directory.fault(error))

    def clean_offset(self, log: Log) -> int | None:
        """Return the offset up to which a log is compacted; None if it never was."""
        return self._directory_of(log).cleaner_offsets.get((log.topic, log.partition))

    def set_clean_offset(self, log: Log, offset: int) -> None:
        """Record and store the offset up to which a log is compacted."""
        directory = self._directory_of(log)
        directory.cleaner_offsets[log.topic, log.partition] = offset
        directory.checkpoint_cleaner_offsets()

    def _online(self) -> list[LogDirectory]:
        return [directory for directory in self.directories if directory.offline is None]

    # -- housekeeping ----------------------------------------------------------------------------------------

    def enforce_retention(
        self, now_ms: int, high_watermark: Callable[[Log], int], topic: str | None = None
    ) -> Promise[None]:
        """Delete expired segments (`log.retention.check.interval.ms`), for a few logs per iteration of the
        event loop, of one topic or of all.
        """
        return self._in_slices(lambda log: log.delete_old_segments(now_ms, high_watermark(log)), topic)

    def flush_due(self, now_ms: int) -> None:
        """Flush the logs that were not flushed for `flush.ms` (`log.flush.scheduler.interval.ms`)."""
        self._in_slices(lambda log: log.durability.flush_if_due(log, now_ms))

    def expire_producers(self, now_ms: int, expiration_ms: int, topic: str | None = None) -> Promise[None]:
        """Remove producers that no longer write (`producer.id.expiration.check.interval.ms`), from one topic
        or from all.
        """
        return self._in_slices(lambda log: log.producer_state.expire(now_ms, expiration_ms), topic)

    def _in_slices(self, task: Callable[[Log], object], topic: str | None = None) -> Promise[None]:
        logs = (*self._logs.values(), *self.futures)
        return in_slices(
            self._clock, logs if topic is None else [log for log in logs if log.topic == topic], task
        )
