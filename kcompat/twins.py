"""The one place that chooses between twins: two implementations of the same thing. It does so at import.

What a C extension does, Python does as well, slower; what a system call does that only some systems have,
another does that is everywhere. A module that has the choice makes it like this:

    if twins.native("package._native"):
        from package._native import work
    else:
        from package._python import work

    file_sync = os.fdatasync if twins.has(os, "fdatasync") else os.fsync

Two environment variables force the choice:

- KCOMPAT_NATIVE=0 leaves out every extension; KCOMPAT_NATIVE=1 makes one that was not built an ImportError;
  otherwise an extension is used where it was built.
- KCOMPAT_PORTABLE=1 leaves out what not every system has, as if this one had none of it.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import ModuleType

PORTABLE: Final = os.environ.get("KCOMPAT_PORTABLE", "") == "1"
"""Whether only what every system has may be used."""

LINUX: Final = sys.platform == "linux" and not PORTABLE
"""Whether what Linux alone has may be used: for what `has` cannot tell by a name in a Python module."""

_NATIVE: Final = os.environ.get("KCOMPAT_NATIVE", "")


def native(extension: str) -> bool:
    """Whether the C extension of this name is used. ImportError where it is demanded, and is not there."""
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
    """Whether a module of the standard library has this name on this system, and may be asked for it."""
    return not PORTABLE and hasattr(module, name)
