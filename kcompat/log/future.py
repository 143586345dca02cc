"""Logs that are to replace others of this broker: copies that grow in another of its log directories.

A future log lies in `<topic>-<partition>.<32 hex digits>-future`. When it has all that the current log has,
`LogManager.replace_with_future` puts it in the place of that. One that is found at a start goes on growing.
Kafka's counterpart: what `LogManager` does with `futureLogs` and `preferredLogDirs`.
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
    """The future logs of one broker by topic and partition, and the directories that admins asked for.

    A future log is the copy that grows in another log directory while a replica moves there.
    """

    def __init__(self, clock: Clock, random: Random) -> None:
        """`random` draws unique names."""
        self._clock = clock
        self._random = random
        self._logs: dict[tuple[str, int], Log] = {}
        self._preferred: dict[tuple[str, int], str] = {}

    def __iter__(self) -> Iterator[Log]:
        return iter(list(self._logs.values()))

    def get(self, topic: str, partition: int) -> Log | None:
        """The log that is to replace a partition's, if it is to be moved."""
        return self._logs.get((topic, partition))

    def load(self, log: Log) -> None:
        """Take in one that was found at the start. Raises LogDirectoryError where there are two."""
        other = self._logs.setdefault((log.topic, log.partition), log)
        if other is not log:
            raise LogDirectoryError(
                f"{other.directory} and {log.directory} are both to replace the log of one partition. "
                "Delete one of them: the log itself is elsewhere."
            )

    def create(self, current: Log, directory: LogDirectory) -> Log:
        """An empty log in another directory, for what `current` holds. Raises StorageError."""
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
        """Replace the log of a partition no more; the one that was to do that."""
        return self._logs.pop((topic, partition), None)

    def clear(self) -> None:
        """Forget all of them: the broker stops."""
        self._logs.clear()

    # -- where a log shall be made -----------------------------------------------------------------------

    def prefer(self, topic: str, partition: int, path: str) -> None:
        """Make the log of a partition in this directory, when one is made."""
        self._preferred[topic, partition] = path

    def take_preferred(self, topic: str, partition: int) -> str | None:
        """The directory that was asked for, which is now being made use of."""
        return self._preferred.pop((topic, partition), None)


def reopened(log: Log, directory: LogDirectory, path: str, now_ms: int) -> Log:
    """Close a log, give its directory the name `path` on the device, and open it there. Raises StorageError;
    once the log is closed there is no way back, and the fault takes the log directory offline.
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
    again.durability.cut(on_device)  # that it was closed well does not mean that it was synced
    return again
