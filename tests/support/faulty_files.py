"""A file port that does what it is told to: stops short, fails, counts."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from kcompat.log.files import Files, OpenFile

if TYPE_CHECKING:
    from collections.abc import Iterable


class FaultyFiles(Files):
    """Writes `limit` bytes a call; raises `fault` once, after `before_fault` more bytes; counts `syncs`."""

    def __init__(self) -> None:
        self.limit = 1 << 30
        self.fault: OSError | None = None
        self.before_fault = 0
        self.syncs = 0

    def write(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        if self.fault is not None:
            if self.before_fault:
                done, self.before_fault = self.before_fault, 0
                return super().write(fd, memoryview(data)[:done], position)
            fault, self.fault = self.fault, None
            raise fault
        return super().write(fd, memoryview(data)[: self.limit], position)

    def sync(self, file: OpenFile) -> None:
        self.syncs += 1
        super().sync(file)


class BadSectors(Files):
    """A disk with `bad` files: those whose names end so can be opened, but neither read nor replaced."""

    def __init__(self) -> None:
        self.bad: str | None = None

    def _check(self, path: str) -> None:
        if self.bad is not None and path.endswith(self.bad):
            raise OSError(errno.EIO, "Input/output error")

    def open_existing(self, path: str) -> OpenFile:
        if self.bad is not None and path.endswith(self.bad):
            return OpenFile(os.open(path, os.O_WRONLY | os.O_CLOEXEC))  # of which no read succeeds
        return super().open_existing(path)

    def modified_ms(self, path: str) -> int:
        self._check(path)
        return super().modified_ms(path)

    def volume_bytes(self, path: str) -> tuple[int, int]:
        self._check(path)
        return super().volume_bytes(path)

    def replace_file(self, path: str, data: bytes, *, sync: bool) -> None:
        self._check(path)
        super().replace_file(path, data, sync=sync)


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
        if self.steps == 0:
            super().write(fd, memoryview(data)[: len(data) // 2], position)
        self._step()
        return super().write(fd, data, position)

    def open(self, path: str) -> OpenFile:
        self._step()
        return super().open(path)

    def truncate(self, file: OpenFile, size: int) -> None:
        self._step()
        super().truncate(file, size)

    def rename(self, source: str, target: str) -> None:
        self._step()
        super().rename(source, target)

    def remove(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._step()
            super().remove([path])
