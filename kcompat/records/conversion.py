"""Records v2 as messages of magic 0 or 1, and back, as long as they are plain and sound.

The one place that chooses who does it: `_conversion` where it was built, else its twin `_conversion_python`.
The environment variable KCOMPAT_NATIVE=0 forces the twin, KCOMPAT_NATIVE=1 makes a missing extension an
ImportError. What stands where they end, `down_convert` and `up_convert` find out.
"""

from __future__ import annotations

import os

from kcompat.records._conversion_python import Flag

__all__ = ["FIRST", "Flag", "write_messages", "write_records"]

_native_wanted = os.environ.get("KCOMPAT_NATIVE", "")
if _native_wanted == "0":
    from kcompat.records._conversion_python import write_messages, write_records
else:
    try:
        from kcompat.records._conversion import write_messages, write_records
    except ImportError:
        if _native_wanted == "1":
            raise
        from kcompat.records._conversion_python import write_messages, write_records

FIRST = -1
"""The origin of `write_messages` that stands for the first record's offset."""
