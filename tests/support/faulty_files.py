"""A file port that does what it is told to: stops short, fails, counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.log.files import Files

if TYPE_CHECKING:
    from collections.abc import Iterable

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


class Crash(BaseException):
    """The process ends here."""


class CrashingFiles(Files):
    """Lets `steps` changes happen; the next one is done by half, if it can be, and the process ends."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def _step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise Crash

    def write(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        """See `Files.write`."""
        if self.steps == 0:
            super().write(fd, memoryview(data)[: len(data) // 2], position)
        self._step()
        return super().write(fd, data, position)

    def open(self, path: str) -> OpenFile:
        """See `Files.open`."""
        self._step()
        return super().open(path)

    def truncate(self, file: OpenFile, size: int) -> None:
        """See `Files.truncate`."""
        self._step()
        super().truncate(file, size)

    def rename(self, source: str, target: str) -> None:
        """See `Files.rename`."""
        self._step()
        super().rename(source, target)

    def remove(self, paths: Iterable[str]) -> None:
        """See `Files.remove`."""
        for path in paths:
            self._step()
            super().remove([path])
