"""The interface between a log directory and its logs: files, background work, and fault reports."""

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
    """The interface of a log directory for its logs.

    This plain implementation does background work at once; `LogDirectory` uses a thread.
    """

    def __init__(self, path: str, files: Files = FILES) -> None:
        self.path = path
        self.files = files
        self.offline: StorageError | None = None

    def run(self, work: Callable[[], object]) -> None:
        """Run slow system calls (sync, unlink) off the event loop. `work` must not raise."""
        work()

    def soon(self, callback: Callable[[], object]) -> None:
        """Call back on the event loop, after the present callback."""
        callback()

    def sync(self, work: Callable[[], object], then: Callable[[], object]) -> None:
        """Run a sync that blocks appends off the event loop, then call `then` on the loop.

        Other syncs do not wait for it. `work` must not raise.
        """
        work()
        then()

    def delete_later(self, paths: list[str], delay_ms: int) -> None:  # noqa: ARG002 - this one does not wait
        """Unlink files that are no longer used, after a delay in ms."""
        self.files.remove(paths)

    def log_start_moved(self) -> None:
        """Store the log start offsets now, so that an acknowledged DeleteRecords survives a kill."""

    def log_cut(self) -> None:
        """Bring the recovery points to the device after a truncation, before anything is appended to the log.

        After a power cut, an older recovery point would declare bytes as synced that were appended since and
        never synced.
        """

    def out_of_service(self, reason: str) -> StorageError:
        """Return the error for a log of this directory that takes no more appends: the directory's fault, or
        else `reason`.
        """
        return self.offline or StorageError(self.path, reason)

    def lasting_fault(self, error: Exception) -> StorageError:
        """Report a failure that leaves the content of the disk unknown: a failed sync, or a change that
        cannot be finished.
        """
        return self.fault(OSError(errno.EIO, str(error)))

    def faults(self, *, last: bool = False) -> FaultsOfDirectory:
        """Return a context manager that raises the `fault` of an OSError in its block, or with `last` its
        `lasting_fault`.
        """
        return FaultsOfDirectory(self.lasting_fault if last else self.fault)

    def fault(self, error: OSError) -> StorageError:
        """Report a failed operation. A full disk may pass; any other fault takes the directory offline."""
        fault = StorageError(self.path, error)
        if not fault.passes and self.offline is None:
            self.offline = fault
            logger.error("%s; the directory is offline until the next start", fault)
        return fault


class FaultsOfDirectory:
    """The context manager of `LogContext.faults`: turns an OSError into the StorageError of `report`."""

    # A class, not a generator, for speed: every append of a follower enters one.
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
