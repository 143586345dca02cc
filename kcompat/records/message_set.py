"""Message sets: the formats of magic 0 and 1, which clients before Kafka 0.11 read and write.

A message, big-endian: int64 offset, int32 size of what follows, uint32 CRC-32 of everything after the CRC,
int8 magic, int8 attributes, in magic 1 int64 timestamp (KIP-32), then key and value, each with an int32
length (negative is null). A set is messages one after another; the last may be cut short, and is ignored.

Compressed messages travel in the value of one wrapper without key. Inner offsets are absolute in magic 0;
in magic 1 they count from the first message, and the wrapper has the absolute offset of the last (KIP-31).
Attribute bits: 0 to 2 the codec, 3 in magic 1 LogAppendTime, which makes the wrapper's timestamp that of all.

Kafka's counterpart: `LegacyRecord` and `AbstractLegacyRecordBatch`.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from kcompat.records.compression import DEFAULT_MAX_MESSAGE_BYTES, Codec, decompress
from kcompat.records.errors import MessageCorrupt, MessageTooLarge, RecordsDamaged
from kcompat.records.layout import (
    CODEC_MASK,
    LENGTH_AT,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_AT,
    NO_TIMESTAMP,
    SMALLEST_MESSAGE,
)
from kcompat.records.legacy_lz4 import with_right_checksum

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from kcompat.records._python import Buffer

MAGIC_V0 = 0
MAGIC_V1 = 1
LEGACY_CODECS = (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)

_LOG_PREFIX = struct.Struct(">qiI")
_FIELDS_V0 = struct.Struct(">bbi")
_FIELDS_V1 = struct.Struct(">bbqi")
_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")
_NULL = _INT.pack(-1)
NO_LIMIT = 2**31
"""A size in bytes that no message exceeds."""


class LegacyMessage(NamedTuple):
    """One message: offset (absolute or relative, see the module), timestamp in ms (-1 in magic 0), key and
    value.
    """

    offset: int
    magic: int
    attributes: int
    timestamp: int
    key: bytes | None
    value: bytes | None

    @property
    def codec(self) -> int:
        """The compression bits; they are not 0 in a wrapper."""
        return self.attributes & CODEC_MASK

    @property
    def uses_log_append_time(self) -> bool:
        """Whether the broker set the timestamp; magic 0 has none."""
        return self.magic == MAGIC_V1 and self.attributes & LOG_APPEND_TIME_FLAG != 0


def encode_message(
    offset: int, magic: int, attributes: int, timestamp: int, key: bytes | None, value: bytes | None
) -> bytes:
    """Return one message; magic 0 has no timestamp."""
    key_size = -1 if key is None else len(key)
    if magic == MAGIC_V0:
        fields = _FIELDS_V0.pack(magic, attributes, key_size)
    else:
        fields = _FIELDS_V1.pack(magic, attributes, timestamp, key_size)
    head = b"".join((fields, key or b"", _NULL if value is None else _INT.pack(len(value))))
    value = value or b""
    size = 4 + len(head) + len(value)
    return b"".join((_LOG_PREFIX.pack(offset, size, crc32(value, crc32(head))), head, value))


def shallow_messages(data: Buffer, max_size: int = NO_LIMIT) -> Generator[LegacyMessage, None, int]:
    """Yield the messages of a set without unpacking wrappers; return the position of one that is cut short.

    Raises the exceptions of `message_at`.
    """
    start = 0
    while (found := message_at(data, start, max_size)) is not None:
        yield found[0]
        start = found[1]
    return start


def message_at(data: Buffer, start: int, max_size: int = NO_LIMIT) -> tuple[LegacyMessage, int] | None:
    """Return the message at a position and the position of the next one; None if it is cut short.

    Raises `MessageTooLarge` for more than `max_size` bytes, `MessageCorrupt` if no message begins here and
    for a wrong CRC, `RecordsDamaged` for a batch v2 and for wrong lengths.
    """
    left = len(data) - start
    if left < LOG_OVERHEAD:
        return None
    size = LOG_OVERHEAD + _INT.unpack_from(data, start + LENGTH_AT)[0]
    if size < LOG_OVERHEAD + SMALLEST_MESSAGE:
        raise MessageCorrupt(f"a message of {size - LOG_OVERHEAD} bytes")
    if left <= MAGIC_AT:
        return None
    magic = data[start + MAGIC_AT]
    if magic > MAGIC:
        raise MessageCorrupt(f"a message of magic {magic}")
    if size > left:
        return None
    if size > max_size:
        raise MessageTooLarge(f"a message of {size} bytes, of {max_size} that may be")
    if magic == MAGIC:
        raise RecordsDamaged("a batch v2 among messages")
    return _decode(data, start, start + size), start + size


def _decode(data: Buffer, start: int, end: int) -> LegacyMessage:
    """Return the message between two positions."""
    offset, _, crc = _LOG_PREFIX.unpack_from(data, start)
    content = bytes(data[start + MAGIC_AT : end])
    if crc32(content) != crc:
        raise MessageCorrupt(f"the message with offset {offset} does not match its CRC")
    magic, attributes = content[0], content[1]
    if magic == MAGIC_V0:
        timestamp, position = NO_TIMESTAMP, 2
    elif len(content) < _FIELDS_V1.size:
        raise RecordsDamaged(f"a message v1 with {len(content)} bytes behind its CRC")
    else:
        timestamp, position = _LONG.unpack_from(content, 2)[0], 10
    key, position = _field(content, position)
    value, _ = _field(content, position)
    return LegacyMessage(offset, magic, attributes, timestamp, key, value)


def _field(content: bytes, position: int) -> tuple[bytes | None, int]:
    start = position + 4
    if start > len(content):
        raise RecordsDamaged("a message that ends before its key or value")
    size = _INT.unpack_from(content, position)[0]
    if size < 0:
        return None, start
    if size > len(content) - start:
        raise RecordsDamaged(f"a field of {size} bytes where {len(content) - start} are left")
    return content[start : start + size], start + size


def inner_messages(
    wrapper: LegacyMessage, max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
) -> Iterator[LegacyMessage]:
    """Yield the messages in a wrapper, at the offsets stored there, with their effective timestamps and
    timestamp type.

    They are unpacked piece by piece, within `compression.output_bound`. Raises `MessageCorrupt` for a wrong
    CRC inside and `RecordsDamaged` for anything else that is no set of plain messages, perhaps only at the
    end.
    """
    last = None
    for pending in unpacked(wrapper, max_message_bytes):
        position = 0
        while (found := message_at(pending, position)) is not None:
            message, position = found
            check_inner(wrapper, message)
            last = message.offset
            if wrapper.uses_log_append_time:
                yield message._replace(timestamp=wrapper.timestamp, attributes=LOG_APPEND_TIME_FLAG)
            elif message.attributes:
                yield message._replace(attributes=0)  # a LogAppendTime mark of an inner message is ignored
            else:
                yield message
        del pending[:position]
    check_last(wrapper, last)


def unpacked(wrapper: LegacyMessage, max_message_bytes: int) -> Iterator[bytearray]:
    """Yield the decompressed content of a wrapper, piece by piece.

    The caller removes the whole messages at the front of each piece; the rest begins the next piece. One
    piece and one message are held in memory. Raises `RecordsDamaged`.
    """
    if wrapper.codec not in LEGACY_CODECS:
        raise RecordsDamaged(f"compression codec {wrapper.codec} in message format v{wrapper.magic}")
    packed = wrapper.value
    if packed is None:
        raise RecordsDamaged("a compressed message without a value")
    if wrapper.codec == Codec.LZ4 and wrapper.magic == MAGIC_V0:
        packed = with_right_checksum(packed)
    pending, needed = bytearray(), 0
    for chunk in decompress(wrapper.codec, packed, max_message_bytes):
        pending += chunk
        if len(pending) < needed:
            continue
        yield pending
        is_begun = len(pending) >= LOG_OVERHEAD
        needed = LOG_OVERHEAD + (_INT.unpack_from(pending, 8)[0] if is_begun else 0)


def check_inner(wrapper: LegacyMessage, message: LegacyMessage) -> None:
    """Raise `RecordsDamaged` unless the message is valid inside the wrapper."""
    if message.magic != wrapper.magic:
        raise RecordsDamaged(f"a message of magic {message.magic} inside one of magic {wrapper.magic}")
    if message.codec:
        raise RecordsDamaged("a compressed message inside a compressed message")


def check_last(wrapper: LegacyMessage, last_offset: int | None) -> None:
    """Raise `RecordsDamaged` if the wrapper is empty, or its offset is below the last inner message's."""
    if last_offset is None:
        raise RecordsDamaged("a compressed message with nothing inside")
    if wrapper.magic == MAGIC_V1 and 0 != wrapper.offset < last_offset:
        raise RecordsDamaged(f"a wrapper at {wrapper.offset} whose last message is at {last_offset}")


def read_messages(
    data: Buffer, max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
) -> Iterator[LegacyMessage]:
    """Yield every message of a set at absolute offsets; the content of a wrapper is in memory as a whole.

    Raises the exceptions of `shallow_messages` and `inner_messages`.
    """
    for outer in shallow_messages(data):
        if not outer.codec:
            yield outer
            continue
        inner = list(inner_messages(outer, max_message_bytes))
        # Some releases of librdkafka set the wrapper's offset to 0.
        relative = outer.magic == MAGIC_V1 and outer.offset != 0
        base = outer.offset - inner[-1].offset if relative else 0
        yield from (message._replace(offset=base + message.offset) for message in inner)
