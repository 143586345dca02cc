"""Conversion between plain, sound records v2 and messages of magic 0 or 1.

`_conversion` does it where it was built, else the pure-Python implementation `_conversion_python`. At the
first record or message that they do not convert, `down_convert` and `up_convert` find out why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat import capabilities
from kcompat.records._conversion_python import Flag
from kcompat.records.compression import Codec, compress, fast_level
from kcompat.records.legacy_lz4 import with_old_checksum
from kcompat.records.message_set import MAGIC_V0

if TYPE_CHECKING:
    from kcompat.records.compression import Buffer

__all__ = ["FIRST", "Flag", "encode_wrapper", "write_messages", "write_records"]

if capabilities.native("kcompat.records._conversion"):
    from kcompat.records._conversion import write_messages, write_records, write_wrapper
else:
    from kcompat.records._conversion_python import write_messages, write_records, write_wrapper

FIRST = -1
"""The `origin` for `write_messages` that means the first record's offset."""


def encode_wrapper(
    inner: Buffer, codec: Codec, magic: int, *, last_offset: int, attributes: int, timestamp: int
) -> bytes:
    """Return a wrapper, whose value is the compressed messages `inner` (`message_set`).

    `attributes` are those of the wrapper without the codec, `timestamp` is the largest of the messages.
    """
    packed = compress(codec, inner, fast_level(codec))
    if codec == Codec.LZ4 and magic == MAGIC_V0:
        packed = with_old_checksum(packed)
    return write_wrapper(packed, last_offset, magic, attributes | codec, timestamp)
