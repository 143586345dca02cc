"""Functions that process records for the log cleaner: put their keys into a table, and filter them.

`_native` provides them where it was built, else the pure-Python implementation `_python`.
"""

from __future__ import annotations

from kcompat import capabilities

__all__ = ["keep", "keep_plain", "move", "put", "put_plain", "rebase"]

if capabilities.native("kcompat.log.cleaner._native"):
    from kcompat.log.cleaner._native import keep, keep_plain, move, put, put_plain, rebase
else:
    from kcompat.log.cleaner._python import keep, keep_plain, move, put, put_plain, rebase
