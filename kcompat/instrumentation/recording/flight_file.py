"""Files of a flight record: their format, writing a file, and reading one that may be incomplete.

A file begins with `MAGIC`. Each entry follows as its length in bytes, an unsigned 32-bit integer in network
order, and the entry as a MessagePack array whose first element is its tag. Bytes behind the last whole entry
are ignored: a process that ends while it writes leaves some.
"""

from __future__ import annotations

import fcntl
import os
import struct
from contextlib import suppress
from io import FileIO
from typing import TYPE_CHECKING, Final

import msgspec

from kcompat.errors import UsageError
from kcompat.instrumentation.recording.journal import FORMAT_VERSION, Began, Entry
from kcompat.wording import printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAGIC: Final = b"kcompat flight record\n"
SUFFIX: Final = ".kcflight"
_LENGTH: Final = struct.Struct(">I")


class FlightFile:
    """A new file of a flight record. Writes are not buffered, so that every entry survives the end of the
    process.
    """

    def __init__(self, path: Path) -> None:
        """Create the file, which only its owner can read. Raises OSError."""
        self._file = FileIO(_create(path), "w")
        self._encoder = msgspec.msgpack.Encoder()
        self.size = self._file.write(MAGIC)

    def write(self, *entries: Entry) -> None:
        """Append entries. Raises OSError."""
        parts: list[bytes] = []
        for entry in entries:
            data = self._encoder.encode(entry)
            parts += (_LENGTH.pack(len(data)), data)
        self.size += self._file.write(b"".join(parts))

    def close(self) -> None:
        """Close the file, if it is open."""
        if self._file.closed:
            return
        with suppress(OSError):
            fcntl.flock(self._file.fileno(), fcntl.LOCK_UN)  # a forked process may have it open
        self._file.close()


def _create(path: Path) -> int:
    """Create a file, locked so that other processes do not remove it, and return its descriptor."""
    while True:
        created = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with suppress(OSError):  # the file system may have no locks
            fcntl.flock(created, fcntl.LOCK_EX)
        if os.fstat(created).st_nlink:
            return created
        os.close(created)  # it was removed before it was locked


def remove_finished(path: Path) -> bool:
    """Remove a file, unless a broker still writes it or it may not be removed; return whether it is gone."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if _is_locked(opened):
                return False
            path.unlink()
        finally:
            os.close(opened)
    except FileNotFoundError:
        pass  # another process was faster
    except OSError:
        return False
    return True


def _is_locked(opened: int) -> bool:
    """Lock an open file; return whether another process has locked it."""
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass  # the file system has no locks
    return False


def flight_files(directory: Path) -> list[Path]:
    """Return the files of flight records in a directory, in the order of their names."""
    return sorted(path for path in directory.glob(f"*{SUFFIX}") if path.is_file())


def read_entries(path: Path) -> Iterator[Entry]:
    """Yield the entries of a file, up to the first incomplete one.

    Raises:
        UsageError: the file is not a flight record, is one of another version of kcompat, or is damaged.
        OSError: the file cannot be read.
    """
    data = memoryview(path.read_bytes())
    if bytes(data[: len(MAGIC)]) != MAGIC:
        raise UsageError(f"{path} is no flight record: name a file that --record or KCOMPAT_RECORD has made")
    decoder = msgspec.msgpack.Decoder(Entry)
    position = len(MAGIC)
    while position + _LENGTH.size <= len(data):
        (size,) = _LENGTH.unpack_from(data, position)
        position += _LENGTH.size
        if position + size > len(data):
            return
        try:
            entry: Entry = decoder.decode(data[position : position + size])
        except msgspec.ValidationError as error:
            raise damaged(path, error) from error
        except msgspec.MsgspecError:
            return  # a write that was interrupted
        position += size
        if isinstance(entry, Began) and entry.format_version != FORMAT_VERSION:
            raise UsageError(
                f"{path} has format {entry.format_version} and this kcompat reads format {FORMAT_VERSION}: "
                "read it with the version that wrote it"
            )
        yield entry


def damaged(path: Path, error: Exception) -> UsageError:
    """Return the error for a file whose content no broker has recorded."""
    return UsageError(f"{path} is damaged, leave it out: {printable(str(error))}")
