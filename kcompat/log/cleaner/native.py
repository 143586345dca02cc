"""The one place that chooses who looks at records for the log cleaner: `_native` where it was built, else its
twin `_python`. The environment variable KCOMPAT_NATIVE=0 forces the twin, KCOMPAT_NATIVE=1 makes a missing
extension an ImportError.
"""

from __future__ import annotations

import os

__all__ = ["keep", "keep_plain", "move", "put", "put_plain", "rebase"]

_native_wanted = os.environ.get("KCOMPAT_NATIVE", "")
if _native_wanted == "0":
    from kcompat.log.cleaner._python import keep, keep_plain, move, put, put_plain, rebase
else:
    try:
        from kcompat.log.cleaner._native import keep, keep_plain, move, put, put_plain, rebase
    except ImportError:
        if _native_wanted == "1":
            raise
        from kcompat.log.cleaner._python import keep, keep_plain, move, put, put_plain, rebase
