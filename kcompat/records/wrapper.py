"""Writing the wrappers of message sets: messages compressed together in the value of one (`message_set`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.records.compression import Codec, compress, quick_level
from kcompat.records.conversion import write_wrapper
from kcompat.records.legacy_lz4 import with_old_checksum
from kcompat.records.message_set import MAGIC_V0

if TYPE_CHECKING:
    from kcompat.records.compression import Buffer


def encode_wrapper(
    inner: Buffer, codec: Codec, magic: int, *, last_offset: int, attributes: int, timestamp: int
) -> bytes:
    """The wrapper of the inner messages; `attributes` without the codec, `timestamp` the largest inside."""
    packed = compress(codec, inner, quick_level(codec))
    if codec == Codec.LZ4 and magic == MAGIC_V0:
        packed = with_old_checksum(packed)
    return write_wrapper(packed, last_offset, magic, attributes | codec, timestamp)
