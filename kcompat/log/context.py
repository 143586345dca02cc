"""The log directory as its logs see it: files, work in the background, and a place to report faults."""

from __future__ import annotations

import errno
import logging
from typing import TYPE_CHECKING

from kcompat.log.errors import StorageError
from kcompat.log.files import FILES

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from kcompat.log.files import Files

logger = logging.getLogger(__name__)


class LogContext:
    """One log directory as its logs see it. This plain one does background work at once; `LogDirectory` uses
    a thread.
    """

    def __init__(self, path: str, files: Files = FILES) -> None:
        self.path = path
        self.files = files
        self.offline: StorageError | None = None

    def run(self, work: Callable[[], object]) -> None:
        """Do slow system calls (sync, unlink) aside from the event loop. `work` must not raise."""
        work()

    def soon(self, callback: Callable[[], object]) -> None:
        """Call back on the event loop, after what it is doing now."""
        callback()

    def sync(self, work: Callable[[], object], then: Callable[[], object]) -> None:
        """Do a sync that somebody waits for aside from the event loop, and call `then` on the loop after it.

        Others do not wait for it. `work` must not raise.
        """
        work()
        then()

    def delete_later(self, paths: list[str], delay_ms: int) -> None:  # noqa: ARG002 - this one does not wait
        """Unlink files that are out of use, after a delay in ms."""
        self.files.remove(paths)

    def log_start_moved(self) -> None:
        """Store the log start offsets now, so that an acknowledged DeleteRecords survives a kill."""

    def log_cut(self) -> None:
        """A log was truncated: have the recovery points on the device before anything is appended to it.

        After a power cut, an older one would vouch for bytes that were appended since and never synced.
        """

    def out_of_service(self, reason: str) -> StorageError:
        """Return the reason why a log here takes no more appends: the fault of the directory, or else
        `reason`.
        """
        return self.offline or StorageError(self.path, reason)

    def lasting_fault(self, error: Exception) -> StorageError:
        """Report a failure, of whatever reason, after which nobody knows what is on the disk: a sync, or a
        change that was begun and cannot be finished.
        """
        return self.fault(OSError(errno.EIO, str(error)))

    def faults(self, *, last: bool = False) -> Faults:
        """Raise what the operating system refuses inside as the StorageError that `fault` makes of it, or
        `lasting_fault`.
        """
        return Faults(self.lasting_fault if last else self.fault)

    def fault(self, error: OSError) -> StorageError:
        """Report a failed operation. A full disk passes; any other fault takes the directory offline."""
        fault = StorageError(self.path, error)
        if not fault.passes and self.offline is None:
            self.offline = fault
            logger.error("%s; the directory is offline until the next start", fault)
        return fault


class Faults:
    """The context manager of `LogContext.faults`: turns an OSError into the StorageError of `report`."""

    # A class, not a generator: every append of a follower passes through one.
    __slots__ = ("_report",)

    def __init__(self, report: Callable[[OSError], StorageError]) -> None:
        self._report = report

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OSError):
            raise self._report(error) from error
