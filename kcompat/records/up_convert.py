"""What Produce versions 0 to 2 carry, checked and turned into the one batch v2 that is stored.

Answers to Kafka's `UnifiedLog.analyzeAndValidateRecords` and the converting half of `LogValidator`: plain
messages, any number of them, or one wrapper, all of one magic. A batch v2 is taken there too. Nothing is held
but the bytes that came and the body that grows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import LOG_OVERHEAD, MAGIC, NO_TIMESTAMP, frame_body, read_header
from kcompat.records.compression import Codec
from kcompat.records.errors import MessageCorrupt, MessageTooLarge, RecordsDamaged
from kcompat.records.message_set import inner_messages, shallow_messages
from kcompat.records.recompress import CODECS, conform
from kcompat.records.record import append_record
from kcompat.records.validate import (
    FIRST_VERSION_WITH_ZSTD,
    KEY_MISSING,
    ProduceRules,
    Refusal,
    check_produced,
    complain_of_time,
)

if TYPE_CHECKING:
    from kcompat.records.batch import BatchHeader
    from kcompat.records.message_set import Message

_MAGIC_AT = 16
_NO_LIMIT = 2**63 - 1


def accept_old(
    view: memoryview, rules: ProduceRules, compression_type: str, now_ms: int
) -> tuple[memoryview, BatchHeader] | Refusal | None:
    """The batch to append, or why there is none. None where no message is whole: then nothing is stored, and
    nothing is wrong.
    """
    if len(view) > _MAGIC_AT and view[_MAGIC_AT] == MAGIC:
        return _accept_batch(view, rules, compression_type, now_ms)
    try:
        return _convert(bytes(view), rules, compression_type, now_ms)
    except MessageCorrupt as damage:
        return Refusal(ErrorCode.CORRUPT_MESSAGE, str(damage))
    except MessageTooLarge as excess:
        return Refusal(ErrorCode.MESSAGE_TOO_LARGE, str(excess))
    except RecordsDamaged as damage:
        return Refusal(ErrorCode.INVALID_RECORD, str(damage))


def _accept_batch(
    view: memoryview, rules: ProduceRules, compression_type: str, now_ms: int
) -> tuple[memoryview, BatchHeader] | Refusal | None:
    if int.from_bytes(view[8:LOG_OVERHEAD], "big", signed=True) > len(view) - LOG_OVERHEAD:
        return None
    # zstd passes: Kafka refuses it only in the versions that were made for batches v2.
    header = check_produced(view, FIRST_VERSION_WITH_ZSTD, rules, now_ms)
    if isinstance(header, Refusal):
        return header
    return conform(view, header, compression_type, rules.max_message_bytes)


def _convert(
    data: bytes, rules: ProduceRules, compression_type: str, now_ms: int
) -> tuple[memoryview, BatchHeader] | Refusal | None:
    messages = shallow_messages(data, rules.max_message_bytes)
    first = next(messages, None)
    if first is None:
        return None
    codec = CODECS.get(compression_type, first.codec)  # `producer` is none of them
    builder = _Builder(rules, now_ms, rules.max_message_bytes if codec == Codec.NONE else _NO_LIMIT)
    if not first.codec:
        builder.add(first)
    mixed = False
    for message in messages:
        if first.codec or message.codec or message.magic != first.magic:
            mixed = True
        if not mixed:
            builder.add(message)
    if mixed:
        return Refusal(ErrorCode.INVALID_RECORD, "one set is plain messages or one wrapper, all of one magic")
    if first.codec:
        for message in inner_messages(first, rules.max_message_bytes):
            builder.add(message)
    return builder.finish(Codec(codec))


class _Builder:
    """The batch v2 that grows message by message, and the first message that is not for this topic.

    `room` bytes of records are more than the topic takes: nothing is kept from there on.
    """

    __slots__ = (
        "_base_timestamp",
        "_body",
        "_count",
        "_max_timestamp",
        "_now_ms",
        "_refusal",
        "_room",
        "_rules",
        "_strict",
    )

    def __init__(self, rules: ProduceRules, now_ms: int, room: int) -> None:
        self._room = room
        self._rules = rules
        self._strict = (
            rules.compacts
            or rules.message_timestamp_before_max_ms != _NO_LIMIT
            or rules.message_timestamp_after_max_ms != _NO_LIMIT
        )
        self._now_ms = now_ms
        self._body = bytearray()
        self._count = 0
        self._base_timestamp = self._max_timestamp = NO_TIMESTAMP
        self._refusal: Refusal | None = None

    def add(self, message: Message) -> None:
        """The next message, checked as the topic demands."""
        timestamp = message.timestamp
        if self._refusal is not None:
            return
        if self._strict or message.attributes or timestamp < NO_TIMESTAMP:
            self._refusal = self._complain(message)
            if self._refusal is not None:
                return
        if not self._count:
            self._base_timestamp = timestamp
        if timestamp > self._max_timestamp:
            self._max_timestamp = timestamp
        delta = timestamp - self._base_timestamp
        append_record(self._body, delta, self._count, message.key, message.value)
        self._count += 1
        if len(self._body) > self._room:
            self._refusal = self._too_large(len(self._body))

    def _complain(self, message: Message) -> Refusal | None:
        rules = self._rules
        if rules.compacts and message.key is None:
            return Refusal(ErrorCode.INVALID_RECORD, KEY_MISSING)
        if message.timestamp < NO_TIMESTAMP:
            return Refusal(ErrorCode.INVALID_TIMESTAMP, f"timestamp {message.timestamp}")
        complaint = complain_of_time(message.timestamp, message.uses_log_append_time, rules, self._now_ms)
        return Refusal(ErrorCode.INVALID_TIMESTAMP, complaint) if complaint else None

    def finish(self, codec: Codec) -> tuple[memoryview, BatchHeader] | Refusal:
        """The whole batch, unless it is refused or too large after all."""
        if self._refusal is not None:
            return self._refusal
        batch = frame_body(self._body, codec, self._count, self._base_timestamp, self._max_timestamp)
        if len(batch) > self._rules.max_message_bytes:
            return self._too_large(len(batch))
        return memoryview(batch), read_header(batch)

    def _too_large(self, size: int) -> Refusal:
        limit = self._rules.max_message_bytes
        return Refusal(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"converted to one batch it has {size} bytes, more than max.message.bytes ({limit})",
        )
