"""The flight record of one broker: files in a directory, of which the oldest are removed.

A failing disk ends the record with one line in the log, never the broker.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from datetime import datetime
from itertools import count
from typing import TYPE_CHECKING, Final

from kcompat.instrumentation.recording.capture import Capture, Keeping
from kcompat.instrumentation.recording.flight_file import SUFFIX, FlightFile, flight_files, remove_finished
from kcompat.instrumentation.recording.journal import RecordJournal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kcompat.instrumentation.recording.journal import Entry
    from kcompat.node.hooks import Hooks

logger = logging.getLogger(__name__)

MIB: Final = 1 << 20
DIRECTORY_BYTES: Final = 64 * MIB
"""Maximum number of bytes of the files in a directory that one broker writes to. Each further broker that
writes to it at the same time may add one file.
"""
FILES: Final = 4
"""Number of files of their full size that fit into the directory."""
KEEPING: Final = Keeping(frame=MIB, records=MIB)

_numbers = count(1)


class FlightRecord:
    """The files that one broker writes, one after the other."""

    def __init__(self, broker: Hooks, directory: Path, limit: int = DIRECTORY_BYTES) -> None:
        """Begin a record. `limit` is the maximum number of bytes of all files in the directory, except the
        files that other brokers write at the same time.
        """
        self._broker = broker
        self._directory = directory
        self._limit = limit
        self._file: FlightFile | None = None
        self._journal = RecordJournal(broker, self._write)
        self._capture = Capture(self._journal, KEEPING)
        if self._next_file():
            broker.interception.add(self._capture)
            broker.observers.append(self._journal)
            broker.when_stopped(self.close, self.close)

    def close(self) -> None:
        """End the record."""
        if self._file is not None:
            self._broker.interception.remove(self._capture)
            self._broker.observers.remove(self._journal)
            self._file.close()
            self._file = None

    def _write(self, *entries: Entry) -> None:
        if self._file is None:
            return
        try:
            self._file.write(*entries)
        except OSError as error:
            self._fail(error)
            return
        if self._file.size > self._limit // FILES:
            self._file.close()
            self._next_file()

    def _next_file(self) -> bool:
        """Begin the next file; return whether that is possible."""
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            _make_room(self._directory, self._limit - self._limit // FILES)
            self._file = FlightFile(self._directory / _new_name(self._broker.broker_id))
        except OSError as error:
            self._fail(error)
            return False
        self._journal.begin()
        return True

    def _fail(self, error: OSError) -> None:
        """Log why recording has stopped. The observers stay registered, since one of them may be the
        caller.
        """
        if self._file is not None:
            self._file.close()
        self._file = None
        logger.error("The flight record in %s ends: %s", self._directory, error.strerror or error)


def _new_name(broker_id: int) -> str:
    """Return the name of a new file; later files have names that sort after it."""
    now = datetime.now().strftime("%Y%m%d-%H%M%S")
    return f"{now}-{os.getpid()}-{next(_numbers):06}-broker-{broker_id}{SUFFIX}"


def _make_room(directory: Path, limit: int) -> None:
    """Remove the oldest files until the others take at most `limit` bytes. Files that a broker of any process
    still writes to are kept.
    """
    found = sorted(_ages_and_sizes(directory))
    total = sum(size for _, _, size in found)
    for _, path, size in found:
        if total <= limit:
            break
        if remove_finished(path):
            total -= size


def _ages_and_sizes(directory: Path) -> Iterator[tuple[int, Path, int]]:
    for path in flight_files(directory):
        with suppress(FileNotFoundError):  # another process has removed it
            status = path.stat()
            yield status.st_mtime_ns, path, status.st_size
