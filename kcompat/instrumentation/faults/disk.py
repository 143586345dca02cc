"""Full, failed and slow disks, simulated for the log directories of one broker."""

from __future__ import annotations

import errno
import os
import threading
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from kcompat.errors import UsageError
from kcompat.instrumentation.disturbable_files import OPERATIONS, DisturbableFiles
from kcompat.instrumentation.faults.checks import checked_ms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcompat.node.broker import BrokerNode


class DiskFault(ABC):
    """A fault of the disk below some log directories, active from `begin` to `end`.

    It may be ended on any thread, at once: the event loop of the broker may be waiting for a slow disk.
    """

    operations: ClassVar[frozenset[str]]
    """The operations that the fault affects."""
    takes_time: ClassVar[bool] = False
    """Whether operations succeed, but take longer."""
    effect: str
    """Effect as a phrase, such as `is full`."""

    def __init__(self, node: BrokerNode, directories: list[Path]) -> None:
        self._files = files_of(node)
        self.node = node
        self.directories = directories
        self.is_in_force = False
        """Whether further operations may be affected."""
        self.struck = 0
        """Number of operations affected."""
        self.began = 0.0
        """Time of the beginning, by the clock of the machine, in seconds since the epoch."""
        self.ended: float | None = None
        """Time of the end; None while the fault is active."""
        self._inodes: set[tuple[int, int]] = set()

    def begin(self) -> None:
        """Start the fault."""
        self.is_in_force = True
        self.began = time.time()
        self._files.disturb(self)

    def end(self) -> None:
        """End the fault; nothing happens if it has ended already."""
        if self.is_in_force:
            self.ended = time.time()
        self.is_in_force = False
        self._files.calm(self)

    @property
    def is_felt(self) -> bool:
        """Whether the fault is active, or its effects still last."""
        return self.is_in_force

    def meet(self, operation: str, place: str | int) -> None:
        """Apply the fault to an operation if it is one of `operations`, on these directories."""
        if not self.is_in_force or operation not in self.operations:
            return
        if self._is_here(place) and self.needs(operation, place):
            self.struck += 1
            self.strike()

    def hasten(self) -> None:
        """End the fault if it only takes time."""
        if self.takes_time:
            self.end()

    def needs(self, operation: str, place: str | int) -> bool:  # noqa: ARG002 - for kinds that look closer
        """Return whether the fault affects this operation."""
        return True

    @abstractmethod
    def strike(self) -> None:
        """Raise OSError, or wait, as the fault does to an operation."""

    def __str__(self) -> str:
        return f"the disk of {', '.join(map(str, self.directories))} {self.effect}"

    def _is_here(self, place: str | int) -> bool:
        if isinstance(place, str):
            path = Path(place).absolute()
            return any(path.is_relative_to(each) for each in self.directories)
        facts = os.fstat(place)
        inode = (facts.st_dev, facts.st_ino)
        if inode not in self._inodes:  # a new file, or one elsewhere
            self._inodes = set(_inodes_below(self.directories))
        return inode in self._inodes


class FilledDisk(DiskFault):
    """A fault that refuses new bytes and new names, as a full disk does. Existing files can be read, renamed
    and deleted.
    """

    operations = frozenset({"write", "open", "preallocate", "make_directory", "make_directories"})
    effect = "is full"

    def needs(self, operation: str, place: str | int) -> bool:
        return operation in ("write", "preallocate") or not os.path.lexists(place)

    def strike(self) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class FailedDisk(DiskFault):
    """A fault that fails all operations. The directories go offline at once, and stay so until the broker
    starts again, as in Kafka.
    """

    operations = frozenset(OPERATIONS)
    effect = "fails"

    def begin(self) -> None:
        super().begin()
        for directory in self.node.parts.storage.logs.directories:
            if Path(directory.path).absolute() in self.directories and directory.offline is None:
                self.struck += 1  # the only one: nothing more is done with a directory that is offline
                directory.fault(_input_output_error())

    @property
    def is_felt(self) -> bool:
        return self.is_in_force or any(
            directory.offline is not None and Path(directory.path).absolute() in self.directories
            for directory in self.node.parts.storage.logs.directories
        )

    def strike(self) -> None:
        raise _input_output_error()


class SlowedDisk(DiskFault):
    """A fault that lets operations that change the disk take longer. The whole broker waits meanwhile."""

    operations = frozenset(
        {"write", "open", "sync", "sync_directory", "sync_filesystem", "make_directory", "rename"}
    )
    takes_time = True

    def __init__(self, node: BrokerNode, directories: list[Path], *, ms: float) -> None:
        super().__init__(node, directories)
        self._ms = checked_ms(ms)
        self._ended = threading.Event()
        self.effect = f"takes {self._ms:g} ms longer"

    def end(self) -> None:
        super().end()
        self._ended.set()

    def strike(self) -> None:
        self._ended.wait(self._ms / 1000)


KINDS: Final[dict[str, type[DiskFault]]] = {"fill": FilledDisk, "fail": FailedDisk, "slow": SlowedDisk}
"""The kinds of faults of disks, by name."""


class DiskFaults:
    """The faults of the disks of one started broker."""

    def __init__(self, node: BrokerNode) -> None:
        self._node = node

    @property
    def directories(self) -> list[str]:
        """The log directories, as in `log.dirs`."""
        return [each.path for each in self._node.parts.storage.logs.directories]

    def add(self, kind: str, directory: str | None, **arguments: Any) -> DiskFault:
        """Start a fault for one log directory, or for all of them, and return it. Called on the event loop of
        the broker.

        Raises:
            UsageError: an argument is not valid, or the broker was started without disturbable files.
        """
        fault = KINDS[kind](self._node, self._chosen(directory), **arguments)
        fault.begin()
        return fault

    def clear(self) -> None:
        """End all faults of the log directories, on any thread."""
        here = set(self._chosen(None))
        for fault in files_of(self._node).disturbances:
            if isinstance(fault, DiskFault) and not here.isdisjoint(fault.directories):
                fault.end()

    def _chosen(self, directory: str | None) -> list[Path]:
        paths = [Path(each).absolute() for each in self.directories]
        if directory is None:
            return paths
        if Path(directory).absolute() not in paths:
            known = ", ".join(self.directories)
            raise UsageError(f"{directory!r} is not a log directory: use one of {known}")
        return [Path(directory).absolute()]


def files_of(node: BrokerNode) -> DisturbableFiles:
    """Return the file port of a broker. Raises UsageError if it does not accept disturbances."""
    files = node.parts.environment.files
    if not isinstance(files, DisturbableFiles):
        raise UsageError("the files of this broker cannot be disturbed: start it with_disturbable_files")
    return files


def _inodes_below(directories: Iterable[Path]) -> Iterator[tuple[int, int]]:
    for directory in directories:
        for path in directory.rglob("*"):
            with suppress(FileNotFoundError):  # deleted meanwhile
                facts = path.stat()
                yield facts.st_dev, facts.st_ino


def _input_output_error() -> OSError:
    return OSError(errno.EIO, os.strerror(errno.EIO))
