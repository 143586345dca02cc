"""Files that segments keep open between appends, as many as the process has descriptors for.

A broker may have more partitions than it may open files. When descriptors run short, some segments close
their file and open it again when they need it, so that writes go on and new clients can connect.

Each thread has its own register: the brokers of one event loop share it, and no other thread closes a file
that they may be writing to.
"""

from __future__ import annotations

import errno
import logging
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol
from weakref import WeakSet

from kcompat import descriptors

if TYPE_CHECKING:
    from kcompat.log.files import Files, OpenFile

logger = logging.getLogger(__name__)

CLOSED_AT_ONCE: Final = 16
"""Number of files that are closed when descriptors run short, so that the next ones find room."""


class FileHolder(Protocol):
    """An object that keeps a file open."""

    def let_go(self) -> None:
        """Close the file until the next use."""


class _Register(threading.local):
    def __init__(self) -> None:
        self.holders: WeakSet[FileHolder] = WeakSet()
        self.has_warned = False


_register = _Register()


def open_kept(files: Files, path: str, holder: FileHolder) -> OpenFile:
    """Open a file for a holder, which keeps it open until `let_go` is called; create a missing one.

    Raises OSError.
    """
    try:
        file = files.open(path)
    except OSError as error:
        if error.errno != errno.EMFILE or not _close_some():
            raise
        file = files.open(path)
    else:
        if file.fd >= descriptors.most_for_logs() and _close_some():
            file = files.open(path)  # reopen at a lower descriptor, which has just become free
    _register.holders.add(holder)
    return file


def forget(holder: FileHolder) -> None:
    """Unregister a holder that has closed its file for good and so has no descriptor to give up."""
    _register.holders.discard(holder)


def _close_some() -> bool:
    """Make some holders close their files; return whether there were any."""
    holders = _register.holders
    count = min(len(holders), CLOSED_AT_ONCE)
    for _ in range(count):
        with suppress(OSError):  # a fault here belongs to another log than the caller's
            holders.pop().let_go()
    if count and not _register.has_warned:
        _register.has_warned = True
        logger.warning(
            "descriptors run short (%s): files of logs are closed and opened again as needed, which costs "
            "time; raise the limit to have them stay open",
            descriptors.limit_named(),
        )
    return count > 0
