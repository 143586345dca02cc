"""Another codec for a produced batch, where the topic's `compression.type` names one (`LogValidator`)."""

from __future__ import annotations

from kcompat.records.batch import CODEC_MASK, HEADER_SIZE, read_header, seal
from kcompat.records.compression import DEFAULT_MAX_MESSAGE_BYTES, Codec, compress, decompress
from kcompat.records.errors import RecordsDamaged
from kcompat.records.record import split_records


def recompress(
    batch: memoryview, codec: Codec, max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
) -> bytearray:
    """A copy of one whole batch, its records under `codec`; header fields stay but codec, length and CRC.

    The caller checks the new size against `max.message.bytes` again. Raises `RecordsDamaged` where the bytes
    are not as many records as the header counts.
    """
    header = read_header(batch)
    body = b"".join(decompress(header.codec, batch[HEADER_SIZE : header.size], max_message_bytes))
    count = sum(1 for _ in split_records((body,)))
    if count != header.record_count:
        raise RecordsDamaged(f"{count} records where the header counts {header.record_count}")
    rewritten = bytearray(batch[:HEADER_SIZE])
    rewritten += compress(codec, body)
    seal(rewritten, header.attributes & ~CODEC_MASK | codec)
    return rewritten
