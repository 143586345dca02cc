"""`kcompat.Cluster(3)`, three brokers in one process: how long it takes to start, and its memory.

As a program it starts one in a fresh interpreter and prints both, in s and MB.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from report import Figure

if TYPE_CHECKING:
    from trial import Numbers

SETTLE_S = 3.0


def measure() -> Numbers:
    """Start one; there is nothing of the kind to set beside it."""
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, __file__], capture_output=True, text=True, check=True, cwd=Path(__file__).parent
    )
    ended, started, memory = map(float, done.stdout.split())
    return {
        "in-process-start": started * 1e3,
        "in-process-memory": memory,
        "in-process-exec": (ended - begin) * 1e3,
    }


def main() -> None:
    """Start a cluster, print its times and memory, and stop it."""
    import os

    from system import resident_mb

    from kcompat import Cluster

    begin = time.perf_counter()
    with Cluster(3):
        end = time.perf_counter()
        time.sleep(SETTLE_S)
        print(end, end - begin, resident_mb(os.getpid()))


FIGURES = (
    Figure("in-process-start", "Cluster(3) in one process, start", "ms", "<= 1000 ms"),
    Figure("in-process-exec", "  with the interpreter's start and the imports", "ms"),
    Figure("in-process-memory", "  memory of the process", "MB", "<= 90 MB"),
)

if __name__ == "__main__":
    main()
