"""Committed offsets from the records of a batch, as many as can be taken together.

Done by `_native` where it was built, else by the pure-Python implementation `_python`.
"""

from __future__ import annotations

from kcompat import capabilities

__all__ = ["fill"]

if capabilities.native("kcompat.group._native"):
    from kcompat.group._native import fill
else:
    from kcompat.group._python import fill
