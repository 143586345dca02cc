"""The one place that chooses who looks at records for the log cleaner: `_native` where it was built, else its
twin `_python`.
"""

from __future__ import annotations

from kcompat import extensions

__all__ = ["keep", "keep_plain", "move", "put", "put_plain", "rebase"]

try:
    extensions.allow()
    from kcompat.log.cleaner._native import keep, keep_plain, move, put, put_plain, rebase
except ImportError:
    extensions.excuse()
    from kcompat.log.cleaner._python import keep, keep_plain, move, put, put_plain, rebase
