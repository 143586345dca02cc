"""Loading of committed offsets from the records of a batch, many at a time.

The module `_native` implements it if it was built, else the pure-Python implementation `_python`.
"""

from __future__ import annotations

from kcompat import capabilities

__all__ = ["fill"]

if capabilities.native("kcompat.group._native"):
    from kcompat.group._native import fill
else:
    from kcompat.group._python import fill
