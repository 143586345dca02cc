"""Whether the optional C extensions are used. Each has a twin in Python beside it that does the same, slower.

The environment variable KCOMPAT_NATIVE=0 forces the twins; KCOMPAT_NATIVE=1 makes a missing extension an
ImportError; otherwise an extension is used where it was built. A module that chooses does it like this:

    try:
        extensions.allow()
        from package._native import work
    except ImportError:
        extensions.excuse()
        from package._python import work
"""

from __future__ import annotations

import os

_WANTED = os.environ.get("KCOMPAT_NATIVE", "")


def allow() -> None:
    """Raise ImportError where the twins are forced."""
    if _WANTED == "0":
        raise ImportError("KCOMPAT_NATIVE=0")


def excuse() -> None:
    """In an `except ImportError`: raise it again where the extensions are demanded."""
    if _WANTED == "1":
        raise  # the ImportError that the caller handles
