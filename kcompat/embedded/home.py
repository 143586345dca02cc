"""Where embedded brokers store, and how their settings are written."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def temporary_directory(owner: object) -> tuple[str, Callable[[], object]]:
    """A new directory and what removes it, which happens at the latest with its owner or this process."""
    directory = tempfile.mkdtemp(prefix="kcompat-")
    return directory, weakref.finalize(owner, _remove, directory, os.getpid())


def _remove(directory: str, owner: int) -> None:
    """Remove a temporary directory, unless this is a forked child: it is the parent's."""
    if os.getpid() == owner:
        shutil.rmtree(directory, ignore_errors=True)


def as_texts(config: Mapping[str, str | float | bool] | None) -> dict[str, str]:
    """Settings as a properties file has them."""
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in (config or {}).items()
    }
