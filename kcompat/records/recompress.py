"""Recompression of a produced batch with the codec of the topic's `compression.type` (`LogValidator`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import read_header, seal, set_create_time
from kcompat.records.compression import DEFAULT_MAX_MESSAGE_BYTES, compress, decompress
from kcompat.records.layout import CODEC_MASK, HEADER_SIZE, LOG_APPEND_TIME_FLAG, LOG_OVERHEAD
from kcompat.records.validate import BatchRefusal

if TYPE_CHECKING:
    from kcompat.records.batch import BatchHeader
    from kcompat.records.compression import Compression


def conform(
    batch: memoryview, header: BatchHeader, target: Compression | None, max_message_bytes: int
) -> tuple[memoryview, BatchHeader] | BatchRefusal:
    """Return the checked batch as the topic stores it, without the bytes after it: unchanged, or
    recompressed.

    A batch that has the codec of `target` already is not recompressed, whatever its level. Without a target
    the producer's codec stays. A LogAppendTime mark of the producer is removed; the log marks batches that it
    stamps itself. A refusal means that the recompressed batch is too large for the topic.
    """
    if header.attributes & LOG_APPEND_TIME_FLAG:
        set_create_time(batch, 0)
        header = read_header(batch)
    if target is None or target.codec == header.codec:
        size = header.batch_length + LOG_OVERHEAD
        return batch if len(batch) == size else batch[:size], header
    copy = recompress(batch[: header.size], target, max_message_bytes)
    if len(copy) > max_message_bytes:
        return BatchRefusal(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"under compression {target.codec.name.lower()} the batch has {len(copy)} bytes, "
            f"more than max.message.bytes ({max_message_bytes})",
        )
    return memoryview(copy), read_header(copy)


def recompress(
    batch: memoryview, target: Compression, max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
) -> bytearray:
    """Return a copy of one checked batch with its records under `target`; of the header only codec, length
    and CRC change.
    """
    header = read_header(batch)
    body = b"".join(decompress(header.codec, batch[HEADER_SIZE : header.size], max_message_bytes))
    copy = bytearray(batch[:HEADER_SIZE])
    copy += compress(target.codec, body, target.level)
    seal(copy, header.attributes & ~CODEC_MASK | target.codec)
    return copy
