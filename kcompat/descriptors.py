"""File descriptors of this process: how many it may have, and what to say when they are used up."""

from __future__ import annotations

import errno
import resource
from contextlib import suppress
from typing import Final

_MOST_ON_MACOS: Final = 10_240
"""The true limit there (OPEN_MAX) where the system says that there is none."""


def raise_limit() -> None:
    """Raise the soft limit of open files to the hard one: connections and logs in use keep one open each."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for most in (hard, max(soft, _MOST_ON_MACOS)):
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            return


def most_for_logs() -> int:
    """Return the first descriptor that is kept back for connections and short-lived files.

    That is a quarter of the limit. A system gives out the lowest descriptor that is free.
    """
    limit = _limit()
    return limit - limit // 4


def explained(error: OSError) -> str:
    """Return the text of an error, with the limit where descriptors are used up."""
    text = str(error.strerror or error)
    return f"{text} ({limit_named()})" if error.errno == errno.EMFILE else text


def limit_named() -> str:
    """Return the name and the value of the limit, as messages have it."""
    return f"RLIMIT_NOFILE is {_limit()}"


def _limit() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 30 if soft == resource.RLIM_INFINITY else soft
