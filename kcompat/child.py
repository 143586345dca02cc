"""Command line and environment of a child process that runs a module of this package."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_SOURCE = str(Path(__file__).parents[1])


def command(module: str, *arguments: str) -> list[str]:
    """Return the command line that runs a module with the Python of this process."""
    return [sys.executable, "-m", module, *arguments]


def environment() -> dict[str, str]:
    """Return this process's environment, with which a child imports the same code from any directory."""
    path = os.pathsep.join(filter(None, (_SOURCE, os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path}
