"""Checking the records of Produce versions 0 to 2, and converting them to the one batch v2 that is stored.

Kafka's counterpart: `UnifiedLog.analyzeAndValidateRecords` and the converting half of `LogValidator`. The
records are any number of plain messages, or one wrapper, all of one magic; a batch v2 is accepted as well.
Only the received bytes and the growing body are in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import frame_body, read_header
from kcompat.records.compression import Codec, Compression
from kcompat.records.conversion import Flag, write_records
from kcompat.records.errors import MessageCorrupt, MessageTooLarge, RecordsDamaged
from kcompat.records.layout import LOG_OVERHEAD, MAGIC, MAGIC_AT, NO_TIMESTAMP
from kcompat.records.message_set import NO_LIMIT, check_inner, check_last, message_at, unpacked
from kcompat.records.recompress import conform
from kcompat.records.validate import (
    FIRST_VERSION_WITH_ZSTD,
    KEY_MISSING,
    BatchRefusal,
    ProduceRules,
    check_produced,
    complain_of_time,
)

if TYPE_CHECKING:
    from kcompat.records._python import Buffer
    from kcompat.records.batch import BatchHeader
    from kcompat.records.message_set import LegacyMessage

_NO_LIMIT = 2**63 - 1


def accept_old(
    view: memoryview, rules: ProduceRules, target: Compression | None, now_ms: int
) -> tuple[memoryview, BatchHeader] | BatchRefusal | None:
    """Return the batch to append, or its refusal.

    None means that no message is whole: then nothing is stored, and the request succeeds. Without `target`
    the producer's codec stays.
    """
    if len(view) > MAGIC_AT and view[MAGIC_AT] == MAGIC:
        return _accept_batch(view, rules, target, now_ms)
    try:
        return _convert(view, rules, target, now_ms)
    except MessageCorrupt as damage:
        return BatchRefusal(ErrorCode.CORRUPT_MESSAGE, str(damage))
    except MessageTooLarge as excess:
        return BatchRefusal(ErrorCode.MESSAGE_TOO_LARGE, str(excess))
    except RecordsDamaged as damage:
        return BatchRefusal(ErrorCode.INVALID_RECORD, str(damage))


def _accept_batch(
    view: memoryview, rules: ProduceRules, target: Compression | None, now_ms: int
) -> tuple[memoryview, BatchHeader] | BatchRefusal | None:
    if int.from_bytes(view[8:LOG_OVERHEAD], "big", signed=True) > len(view) - LOG_OVERHEAD:
        return None
    # zstd passes: Kafka refuses it only in the Produce versions that were made for batches v2.
    header = check_produced(view, FIRST_VERSION_WITH_ZSTD, rules, now_ms)
    if isinstance(header, BatchRefusal):
        return header
    return conform(view, header, target, rules.max_message_bytes)


def _convert(
    data: memoryview, rules: ProduceRules, target: Compression | None, now_ms: int
) -> tuple[memoryview, BatchHeader] | BatchRefusal | None:
    found = message_at(data, 0, rules.max_message_bytes)
    if found is None:
        return None
    first, end = found
    codec = first.codec if target is None else target.codec
    builder = _Builder(first, rules, now_ms, rules.max_message_bytes if codec == Codec.NONE else _NO_LIMIT)
    if first.codec:
        if message_at(data, end, rules.max_message_bytes) is not None:
            return _mixed()
        refusal = builder.open_wrapper()
    else:
        _, refusal = builder.add(data, rules.max_message_bytes)
    return refusal or builder.finish(target or Compression(Codec(codec)))


def _mixed() -> BatchRefusal:
    return BatchRefusal(
        ErrorCode.INVALID_RECORD, "one set is plain messages or one wrapper, all of one magic"
    )


class _Builder:
    """Builder of the batch v2 from plain messages or from those in one wrapper, depending on the message
    `first`.

    More than `room` bytes of records are too large for the topic.
    """

    def __init__(self, first: LegacyMessage, rules: ProduceRules, now_ms: int, room: int) -> None:
        self._first = first
        self._rules = rules
        self._now_ms = now_ms
        self._room = room
        self._flags = _flags(first, rules)
        self._earliest = now_ms - rules.message_timestamp_before_max_ms
        self._latest = min(now_ms + rules.message_timestamp_after_max_ms, _NO_LIMIT)
        self._body = bytearray()
        self._count = 0
        self._base_timestamp = first.timestamp
        self._max_timestamp = NO_TIMESTAMP
        self._last_offset: int | None = None

    def open_wrapper(self) -> BatchRefusal | None:
        """Add the messages of the wrapper; return the refusal, or None.

        Raises the exceptions of `inner_messages`.
        """
        for pending in unpacked(self._first, self._rules.max_message_bytes):
            end, refusal = self.add(pending, NO_LIMIT)
            if refusal:
                return refusal
            del pending[:end]
        check_last(self._first, self._last_offset)
        return None

    def add(self, messages: Buffer, largest: int) -> tuple[int, BatchRefusal | None]:
        """Add messages of at most `largest` bytes; return the position of one that is cut short, and a
        refusal or None.

        Raises the exceptions of `message_at`.
        """
        records, end, count, self._base_timestamp, newest, last_offset = write_records(
            messages,
            0,
            self._room - len(self._body),
            largest,
            self._first.magic,
            self._flags,
            self._count,
            self._base_timestamp,
            self._earliest,
            self._latest,
        )
        self._body += records
        self._count += count
        self._max_timestamp = max(self._max_timestamp, newest)
        if count:
            self._last_offset = last_offset
        if len(self._body) > self._room:
            return end, self._too_large(len(self._body))
        found = message_at(messages, end, largest)
        return end, None if found is None else self._complain(found[0])

    def _complain(self, message: LegacyMessage) -> BatchRefusal:
        """Return the refusal of a readable message that the topic does not allow."""
        rules, first = self._rules, self._first
        marked, timestamp = message.uses_log_append_time, message.timestamp
        if first.codec:
            check_inner(first, message)
            marked = first.uses_log_append_time
            timestamp = first.timestamp if marked else timestamp
        elif message.codec or message.magic != first.magic:
            return _mixed()
        if rules.compacts and message.key is None:
            return BatchRefusal(ErrorCode.INVALID_RECORD, KEY_MISSING)
        complaint = f"timestamp {timestamp}"
        if timestamp >= NO_TIMESTAMP:
            complaint = complain_of_time(timestamp, marked, rules, self._now_ms) or ""
        assert complaint, "the conversion ended at a message that has no fault"
        return BatchRefusal(ErrorCode.INVALID_TIMESTAMP, complaint)

    def finish(self, target: Compression) -> tuple[memoryview, BatchHeader] | BatchRefusal:
        """Return the whole batch, or a refusal if it is too large."""
        batch = frame_body(
            self._body,
            target.codec,
            self._count,
            self._base_timestamp,
            self._max_timestamp,
            level=target.level,
        )
        if len(batch) > self._rules.max_message_bytes:
            return self._too_large(len(batch))
        return memoryview(batch), read_header(batch)

    def _too_large(self, size: int) -> BatchRefusal:
        limit = self._rules.max_message_bytes
        return BatchRefusal(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"converted to one batch it has {size} bytes, more than max.message.bytes ({limit})",
        )


def _flags(first: LegacyMessage, rules: ProduceRules) -> Flag:
    flags = Flag.INSIDE if first.codec else Flag(0)
    if first.codec and first.uses_log_append_time:
        flags |= Flag.MARKED
    if rules.compacts:
        flags |= Flag.KEYS_WANTED
    if rules.stamps_append_time:
        flags |= Flag.BROKERS_TIME
    return flags
