"""A module of this package that runs in a process of its own: its command line and its environment."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_SOURCE = str(Path(__file__).parents[1])


def command(module: str, *arguments: str) -> list[str]:
    """Return the command line that runs a module with the Python of this process."""
    return [sys.executable, "-m", module, *arguments]


def environment() -> dict[str, str]:
    """The variables of this process, with which the same code is found whatever the current directory."""
    path = os.pathsep.join(filter(None, (_SOURCE, os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path}
