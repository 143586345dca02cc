"""Committed offsets from the records of a batch, as many as can be taken together.

Done by `_native` where it was built, else by its twin `_python`.
"""

from __future__ import annotations

from kcompat import twins

__all__ = ["fill"]

if twins.native("kcompat.group._native"):
    from kcompat.group._native import fill
else:
    from kcompat.group._python import fill
