"""C extensions and system calls that this process may use. No other module decides this.

Each C extension has a pure-Python implementation beside it, which is slower. Each system call that only some
systems have has a portable implementation. A module with two implementations chooses when it is imported:

    if capabilities.native("package._native"):
        from package._native import work
    else:
        from package._python import work

    file_sync = os.fdatasync if capabilities.has(os, "fdatasync") else os.fsync

Two environment variables force the choice:

- KCOMPAT_NATIVE=0 uses no extension; KCOMPAT_NATIVE=1 raises ImportError for an extension that was not built;
  otherwise each extension is used if it was built.
- KCOMPAT_PORTABLE=1 uses the portable implementations only.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import ModuleType

PORTABLE: Final = os.environ.get("KCOMPAT_PORTABLE", "") == "1"
"""Whether KCOMPAT_PORTABLE=1 restricts this process to the portable implementations."""

LINUX: Final = sys.platform == "linux" and not PORTABLE
"""Whether Linux features may be used that `has` cannot detect, since no name in a Python module stands for
them."""

_NATIVE: Final = os.environ.get("KCOMPAT_NATIVE", "")

EXTENSIONS: Final = (
    "kcompat.group._native",
    "kcompat.log.cleaner._native",
    "kcompat.net._native",
    "kcompat.protocol._native",
    "kcompat.records._conversion",
    "kcompat.records._native",
)
"""The C extensions of the package, one for each of its C files."""


def native(extension: str) -> bool:
    """Return whether a C extension is used; raise ImportError if KCOMPAT_NATIVE=1 requires a missing one."""
    if _NATIVE == "0":
        return False
    try:
        importlib.import_module(extension)
    except ImportError:
        if _NATIVE == "1":
            raise
        return False
    return True


def has(module: ModuleType, name: str) -> bool:
    """Return whether a standard library module has this name on this system and KCOMPAT_PORTABLE allows its
    use.
    """
    return not PORTABLE and hasattr(module, name)
