"""A file port that does what it is told to: stops short, fails, counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.log.files import Files

if TYPE_CHECKING:
    from kcompat.log.files import OpenFile


class FaultyFiles(Files):
    """Writes `limit` bytes a call; raises `fault` once, after `before_fault` more bytes; counts `syncs`."""

    def __init__(self) -> None:
        self.limit = 1 << 30
        self.fault: OSError | None = None
        self.before_fault = 0
        self.syncs = 0

    def write(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        """See `Files.write`."""
        if self.fault is not None:
            if self.before_fault:
                done, self.before_fault = self.before_fault, 0
                return super().write(fd, memoryview(data)[:done], position)
            fault, self.fault = self.fault, None
            raise fault
        return super().write(fd, memoryview(data)[: self.limit], position)

    def sync(self, file: OpenFile) -> None:
        """See `Files.sync`."""
        self.syncs += 1
        super().sync(file)
