"""Ports for the servers of tests.

They are below those that the system gives to outgoing connections, one of which could else have the port of a
broker that is just starting, or starting again. Each test process has a block of its own. None is a round
number: tests compare what tools print but for the ports, and other numbers there are mostly round.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import socket
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST: Final = 20_000
END: Final = 32_000
BLOCK: Final = 200


def free_port(row: int = 1) -> int:
    """A TCP port that nobody listens on, and `row` of them: those that follow it too."""
    ports = _ports()
    for _ in range(BLOCK):
        first = next(ports)
        if all(map(_is_free, range(first, first + row))):
            for _ in range(row - 1):
                next(ports)
            return first
    raise RuntimeError(f"{row} ports in a row are not free among {BLOCK}")


@cache
def _ports() -> Iterator[int]:
    """Yield the ports of this process, over and over. The lock on them ends with the process."""
    for first in range(FIRST, END, BLOCK):
        path = Path(tempfile.gettempdir()) / f"kcompat-test-ports-{first}.lock"
        with contextlib.suppress(OSError):
            lock = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(lock)
            else:
                return itertools.cycle([port for port in range(first, first + BLOCK) if port % 100])
    raise RuntimeError("there are more test processes than blocks of ports")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
        return True
