"""Future logs: copies that grow in another log directory to replace logs of this broker.

A future log lies in `<topic>-<partition>.<32 hex digits>-future`. When it has caught up with the current log,
`LogManager.replace_with_future` puts it in that log's place. A future log found at a start continues to grow.
Kafka's counterpart: the `futureLogs` and `preferredLogDirs` of `LogManager`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.log.errors import LogDirectoryError
from kcompat.log.loader import create_log, open_log
from kcompat.log.names import future_directory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from kcompat.clock import Clock
    from kcompat.log.directory import LogDirectory
    from kcompat.log.log import Log


class FutureLogs:
    """The future logs of one broker by topic and partition, and the directories that admins requested.

    A future log is the copy that grows in another log directory while a replica moves there.
    """

    def __init__(self, clock: Clock, random: Random) -> None:
        """Create an empty registry; `random` draws unique names."""
        self._clock = clock
        self._random = random
        self._logs: dict[tuple[str, int], Log] = {}
        self._preferred: dict[tuple[str, int], str] = {}

    def __iter__(self) -> Iterator[Log]:
        return iter(list(self._logs.values()))

    def get(self, topic: str, partition: int) -> Log | None:
        """Return the future log of a partition; None if the partition is not being moved."""
        return self._logs.get((topic, partition))

    def load(self, log: Log) -> None:
        """Register a future log found at the start. Raises LogDirectoryError if the partition has two."""
        other = self._logs.setdefault((log.topic, log.partition), log)
        if other is not log:
            raise LogDirectoryError(
                f"{other.directory} and {log.directory} are both to replace the log of one partition. "
                "Delete one of them: the log itself is elsewhere."
            )

    def create(self, current: Log, directory: LogDirectory) -> Log:
        """Create an empty future log of `current` in another directory. Raises StorageError."""
        topic, partition = current.topic, current.partition
        directory.forget_earlier(topic, partition)
        log = create_log(
            f"{directory.path}/{future_directory(topic, partition, self._random)}",
            topic,
            partition,
            current.config,
            topic_id=current.topic_id,
            now_ms=self._clock.now_ms(),
            context=directory,
        )
        with directory.faults():
            log.make()
        directory.add(log)
        self._logs[topic, partition] = log
        self._preferred.pop((topic, partition), None)
        return log

    def forget(self, topic: str, partition: int) -> Log | None:
        """Unregister and return the future log of a partition; None if it has none."""
        return self._logs.pop((topic, partition), None)

    def clear(self) -> None:
        """Unregister all future logs when the broker stops."""
        self._logs.clear()

    # -- where a log is to be created --------------------------------------------------------------------

    def prefer(self, topic: str, partition: int, path: str) -> None:
        """Request that the log of a partition is created in this directory."""
        self._preferred[topic, partition] = path

    def take_preferred(self, topic: str, partition: int) -> str | None:
        """Return and forget the directory requested for a partition; None if none was requested."""
        return self._preferred.pop((topic, partition), None)


def reopened(log: Log, directory: LogDirectory, path: str, now_ms: int) -> Log:
    """Close a log, rename its directory to `path`, and open it there.

    Raises StorageError: once the log is closed the move cannot be undone, and a fault takes the log directory
    offline.
    """
    on_device = log.recovery_point
    log.close(sync=False)
    files = directory.files
    try:
        files.rename(log.directory, path)
        files.sync_directory(directory.path)
        again = open_log(
            path,
            log.topic,
            log.partition,
            log.config,
            now_ms=now_ms,
            log_start_offset=log.log_start_offset,
            clean=True,
            context=directory,
        )
    except OSError as error:
        raise directory.lasting_fault(error) from error
    again.durability.cut(on_device)  # a clean close does not mean that the log was synced
    return again
