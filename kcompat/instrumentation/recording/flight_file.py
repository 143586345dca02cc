"""Files of a flight record: their form, writing one, and reading one that may be torn.

A file begins with `MAGIC`. Each entry follows as its length in bytes, an unsigned 32-bit integer in network
order, and the entry as a MessagePack array whose first element is its tag. Bytes behind the last whole entry
are ignored: a process that ends while it writes leaves some.
"""

from __future__ import annotations

import os
import struct
from io import FileIO
from typing import TYPE_CHECKING, Final

import msgspec

from kcompat.errors import UsageError
from kcompat.instrumentation.recording.journal import FORMAT_VERSION, Began, Entry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAGIC: Final = b"kcompat flight record\n"
SUFFIX: Final = ".kcflight"
_LENGTH: Final = struct.Struct(">I")


class FlightFile:
    """A new file of a flight record. It is written without a buffer, so that it has an entry whatever ends
    the process.
    """

    def __init__(self, path: Path) -> None:
        """Create the file, which only its owner can read. Raises OSError."""
        created = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._file = FileIO(created, "w")
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
        """Close the file."""
        self._file.close()


def flight_files(directory: Path) -> list[Path]:
    """Return the files of flight records in a directory, in the order of their names."""
    return sorted(directory.glob(f"*{SUFFIX}"))


def read_entries(path: Path) -> Iterator[Entry]:
    """Yield the entries of a file, up to the first that is not whole.

    Raises:
        UsageError: the file is no flight record, or one of another version of kcompat.
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
        except msgspec.MsgspecError:
            return  # a write that was interrupted
        position += size
        if isinstance(entry, Began) and entry.format_version != FORMAT_VERSION:
            raise UsageError(
                f"{path} has format {entry.format_version} and this kcompat reads format {FORMAT_VERSION}: "
                "read it with the version that wrote it"
            )
        yield entry
