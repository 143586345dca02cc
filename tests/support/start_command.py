"""`kcompat start` as a process of its own, whose every word and exit code a test looks at."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def started(*arguments: str, cwd: Path) -> Iterator[subprocess.Popen[str]]:
    """The command as a process of its own, gone at the end."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KAFKA_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "kcompat", "start", *arguments],
        cwd=cwd, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # the tests may run under nohup
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
