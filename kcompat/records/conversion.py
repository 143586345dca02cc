"""Records v2 as messages of magic 0 or 1, and back, as long as they are plain and sound.

Done by `_conversion` where it was built, else by the pure-Python implementation `_conversion_python`.
What stands where they end, `down_convert` and `up_convert` find out.
"""

from __future__ import annotations

from kcompat import capabilities
from kcompat.records._conversion_python import Flag

__all__ = ["FIRST", "Flag", "write_messages", "write_records", "write_wrapper"]

if capabilities.native("kcompat.records._conversion"):
    from kcompat.records._conversion import write_messages, write_records, write_wrapper
else:
    from kcompat.records._conversion_python import write_messages, write_records, write_wrapper

FIRST = -1
"""The origin of `write_messages` that stands for the first record's offset."""
