"""The log cleaner looks at records one by one: notes their keys in a table, keeps them or leaves them out.

Done by `_native` where it was built, else by the pure-Python implementation `_python`.
"""

from __future__ import annotations

from kcompat import capabilities

__all__ = ["keep", "keep_plain", "move", "put", "put_plain", "rebase"]

if capabilities.native("kcompat.log.cleaner._native"):
    from kcompat.log.cleaner._native import keep, keep_plain, move, put, put_plain, rebase
else:
    from kcompat.log.cleaner._python import keep, keep_plain, move, put, put_plain, rebase
