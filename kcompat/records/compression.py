"""Compression."""

from __future__ import annotations

from enum import IntEnum


class Codec(IntEnum):
    """Kafka's compression types, as the attribute bits hold them."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def compress(codec: Codec, data: bytes | bytearray) -> bytes:
    """Compress one batch's records."""
    raise NotImplementedError(codec)
