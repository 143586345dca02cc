"""File descriptors of this process: their limit, and error messages for when they are used up."""

from __future__ import annotations

import errno
import resource
from contextlib import suppress
from typing import Final

_MOST_ON_MACOS: Final = 10_240
"""Actual limit on macOS (OPEN_MAX) where the system reports none."""


def raise_limit() -> None:
    """Raise the soft limit of open files to the hard one: each connection and each log in use has one file
    open.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for most in (hard, max(soft, _MOST_ON_MACOS)):
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            return


def most_for_logs() -> int:
    """Return the first descriptor that logs must leave to connections and short-lived files.

    The logs get three quarters of the limit. A system always gives out the lowest free descriptor, so a
    file that gets this one shows that all lower ones are in use.
    """
    limit = _limit()
    return limit - limit // 4


def explained(error: OSError) -> str:
    """Return the text of an error; if descriptors are used up, the text names the limit."""
    text = str(error.strerror or error)
    return f"{text} ({limit_named()})" if error.errno == errno.EMFILE else text


def limit_named() -> str:
    """Return the name and the value of the limit for use in messages."""
    return f"RLIMIT_NOFILE is {_limit()}"


def _limit() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 30 if soft == resource.RLIM_INFINITY else soft
