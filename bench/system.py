"""Processor time and memory of processes as Linux reports them, and memory made ready for a fair run."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable

MIB = 1 << 20
LONGEST_DELETION_S = 3
_CHUNK = bytes(8 * MIB)


def cpu_seconds(pid: int) -> float:
    """Processor time the threads of a process have used so far, to the nanosecond."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue  # the thread ended meanwhile
    return total / 1e9


def cpu_seconds_ever(pid: int) -> float:
    """Processor time of a process since its start, also that of threads that have ended; to 10 ms."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> float:
    """Memory of a process that is present, in MB (10^6 bytes)."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def make_ready(directory: Path, mib: int, homes: Iterable[Path]) -> None:
    """Make as much memory ready as a trial will take; to be called right before the clock runs.

    Before that, the files of topics that were deleted go from the homes of the brokers: a second or two after
    their topics, and not in another trial's time. Kafka takes longer in its first half minute.
    """
    deadline = time.monotonic() + LONGEST_DELETION_S
    for home in homes:
        while any(home.glob("**/*-delete")) and time.monotonic() < deadline:
            time.sleep(0.05)
    _warm_memory(directory, mib)


def _warm_memory(directory: Path, mib: int) -> None:
    """Write and remove a file: the host of a virtual machine backs memory when it is touched, and takes it
    back some seconds after it was freed. A broker that stores into such memory looks ten times slower.
    """
    with tempfile.TemporaryFile(dir=directory) as file:
        for _ in range(mib // 8):
            file.write(_CHUNK)


class Stopwatch:
    """Wall time and the processor time of some processes in a `with` block, in seconds."""

    def __init__(self, *pids: int) -> None:
        self._pids = pids
        self.wall = self.cpu = 0.0

    def __enter__(self) -> Self:
        self._cpu = sum(map(cpu_seconds, self._pids))
        self._wall = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall = time.perf_counter() - self._wall
        self.cpu = sum(map(cpu_seconds, self._pids)) - self._cpu
