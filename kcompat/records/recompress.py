"""Another codec for a produced batch, where the topic's `compression.type` names one (`LogValidator`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import (
    CODEC_MASK,
    HEADER_SIZE,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    read_header,
    seal,
    set_create_time,
)
from kcompat.records.compression import DEFAULT_MAX_MESSAGE_BYTES, Codec, compress, decompress
from kcompat.records.validate import Refusal

if TYPE_CHECKING:
    from kcompat.records.batch import BatchHeader

PRODUCER = "producer"
"""The `compression.type` that keeps whatever codec the producer chose."""

CODECS = {
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}
"""The other values of `compression.type`."""


def conform(
    batch: memoryview, header: BatchHeader, compression_type: str, max_message_bytes: int
) -> tuple[memoryview, BatchHeader] | Refusal:
    """The checked batch as the topic stores it, without what followed it: itself, or a copy under its codec.

    A batch that its producer marked LogAppendTime loses the mark; the log marks what it stamps itself.
    The copy may have become too large for the topic.
    """
    if header.attributes & LOG_APPEND_TIME_FLAG:
        set_create_time(batch, 0)
        header = read_header(batch)
    if compression_type == PRODUCER or CODECS[compression_type] == header.codec:
        size = header.batch_length + LOG_OVERHEAD
        return batch if len(batch) == size else batch[:size], header
    copy = recompress(batch[: header.size], CODECS[compression_type], max_message_bytes)
    if len(copy) > max_message_bytes:
        return Refusal(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"under {compression_type} the batch has {len(copy)} bytes, more than max.message.bytes",
        )
    return memoryview(copy), read_header(copy)


def recompress(
    batch: memoryview, codec: Codec, max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
) -> bytearray:
    """A copy of one checked batch, its records under `codec`; the header stays but codec, length and CRC."""
    header = read_header(batch)
    body = b"".join(decompress(header.codec, batch[HEADER_SIZE : header.size], max_message_bytes))
    copy = bytearray(batch[:HEADER_SIZE])
    copy += compress(codec, body)
    seal(copy, header.attributes & ~CODEC_MASK | codec)
    return copy
