"""A disk of its own for a directory, which can be made full and failed. It needs root on Linux.

It is in memory (tmpfs). A full one is one that was shrunk to what is on it.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

ROOM: int = 512 << 20
"""Size of the disk in bytes."""


class SmallDisk:
    """The disk of one directory."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def mount(self) -> None:
        """Have what comes into the directory on the disk; nothing changes where that is so."""
        self._path.mkdir(parents=True, exist_ok=True)
        if not self._path.is_mount():
            _run("mount", "-t", "tmpfs", "-o", f"size={ROOM}", "kcompat-disk", str(self._path))

    def fill(self) -> None:
        """Leave no room; what somebody writes meanwhile is counted too."""
        while True:
            now = os.statvfs(self._path)
            used = (now.f_blocks - now.f_bfree) * now.f_frsize
            if subprocess.run(self._resize(used), check=False, capture_output=True).returncode == 0:
                return

    def make_room(self) -> None:
        """There is room again."""
        _run(*self._resize(ROOM))

    def _resize(self, size: int) -> list[str]:
        return ["mount", "-o", f"remount,size={size}", str(self._path)]

    def unmount(self) -> None:
        """Forget all that is on it."""
        if self._path.is_mount():
            _run("umount", str(self._path))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
