"""Reports the partitions of a failed log directory to the controller at once; the other directories stay in
use.

Kafka's counterpart: `LogDirFailureHandler` of its `ReplicaManager`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.log.directory import LogDirectory
    from kcompat.log.manager import LogManager


class OfflineDirectories:
    """The failed log directories of one broker, reported from `start` on."""

    def __init__(self, logs: LogManager, report: Callable[[Sequence[tuple[str, int]]], object]) -> None:
        self._logs = logs
        self._tell = report

    def start(self) -> None:
        """Report each directory that goes offline from now on, and those that went offline since they were
        loaded.
        """
        for directory in self._logs.directories:
            directory.on_offline = partial(self._report, directory)
            if directory.offline is not None:
                self._report(directory)

    def stop(self) -> None:
        """Stop reporting failed directories."""
        for directory in self._logs.directories:
            directory.on_offline = None

    def _report(self, directory: LogDirectory) -> None:
        partitions = [
            (log.topic, log.partition)
            for log in directory.logs
            if self._logs.get(log.topic, log.partition) is log  # and not a copy of it
        ]
        if partitions:
            self._tell(partitions)
