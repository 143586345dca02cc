"""`broker.disk`: simulated full, failed and slow disks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from kcompat.embedded.fault import Fault
from kcompat.embedded.tracebacks import short_tracebacks
from kcompat.errors import UsageError
from kcompat.instrumentation.faults.disk import DiskFaults

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from kcompat.embedded.thread import LoopThread
    from kcompat.node.broker import BrokerNode


@short_tracebacks
class Disk:
    """The disks of the log directories of a running broker.

    Each method starts a fault at once and returns it; `remove`, or the end of a `with` block, ends it.
    `directory` is one of `directories`; None means all of them. The methods raise UsageError for any other
    directory.

    with broker.disk.fill():
            ...  # appends fail with KAFKA_STORAGE_ERROR
    """

    def __init__(self, running: Callable[[], tuple[LoopThread, BrokerNode]]) -> None:
        self._running = running

    @property
    def directories(self) -> list[str]:
        """The log directories of the broker."""
        return DiskFaults(self._running()[1]).directories

    def fill(self, directory: str | PathLike[str] | None = None) -> Fault:
        """Simulate a full disk until the fault ends: nothing can be written, but stored records can be
        read.
        """
        return self._add("fill", directory)

    def fail(self, directory: str | PathLike[str] | None = None) -> Fault:
        """Fail every operation on the disk. The directory is offline at once, and stays so until the broker
        starts again, after the end of the fault.
        """
        return self._add("fail", directory)

    def slow(self, ms: float, directory: str | PathLike[str] | None = None) -> Fault:
        """Let each write and each sync take `ms` milliseconds longer. The broker has one thread, so that all
        clients and the methods of this object wait for it. The end of the fault, and a stop of the broker, do
        not wait.
        """
        return self._add("slow", directory, ms=ms)

    def clear(self) -> None:
        """Remove all faults of disks."""
        DiskFaults(self._running()[1]).clear()  # not on the loop, which may wait for a slow disk

    def _add(self, kind: str, directory: str | PathLike[str] | None, **arguments: Any) -> Fault:
        thread, node = self._running()
        path = None if directory is None else _path_of(directory)
        return FaultOfDisk(thread, thread.do(lambda: DiskFaults(node).add(kind, path, **arguments)))


@short_tracebacks
class FaultOfDisk(Fault):
    """A fault of a disk. The fault ends at once, even while the broker waits for a slow disk."""

    def remove(self) -> None:
        """End the fault. Does nothing if it has ended."""
        self._fault.end()


def _path_of(directory: str | PathLike[str]) -> str:
    path = os.fspath(directory) if isinstance(directory, os.PathLike) else directory
    if not isinstance(path, str):
        raise UsageError(f"directory={directory!r} is not the name of a directory: use text or a path")
    return path
