"""The leader's checks of the records for one partition in a Produce request, version 3 and later.

Header, CRC and every record are checked for every batch, compressed or not; `scanning` does it fast. A wrong
max timestamp in the header is corrected in place.

Kafka's counterpart: `ProduceRequest.validateRecords`, `UnifiedLog.analyzeAndValidateRecords` and
`LogValidator`, in their order. Message sets (magic 0 and 1), which only versions 0 to 2 may carry, are not
read here.
"""

from __future__ import annotations

import struct
from typing import Protocol

import msgspec

from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import BatchHeader, crc_matches, read_header, read_records, set_max_timestamp
from kcompat.records.compression import Codec
from kcompat.records.errors import RecordsDamaged
from kcompat.records.layout import (
    CODEC_MASK,
    CONTROL_FLAG,
    HEADER_SIZE,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MAGIC,
    NO_TIMESTAMP,
    SMALLEST_MESSAGE,
)
from kcompat.records.scanning import INSPECTS_CRC, check_records, inspect

FIRST_VERSION_WITH_ZSTD = 7  # zstd needs this version (KIP-110)
KEY_MISSING = "a compacted topic takes no record without a key"
_MOST_BLAMED = 1000  # most records that one refusal lists

_UP_TO_MAGIC = 17
_length_at = struct.Struct(">i").unpack_from


class ProduceRules(Protocol):
    """The limits of a topic on produced batches: sizes in bytes, times in ms, named as Kafka's configs."""

    @property
    def max_message_bytes(self) -> int:
        """Largest size of a batch, header included."""

    @property
    def compacts(self) -> bool:
        """Whether the topic is compacted, so that every record needs a key."""

    @property
    def stamps_append_time(self) -> bool:
        """Whether the broker sets the timestamps, so that any timestamp is accepted."""

    @property
    def message_timestamp_before_max_ms(self) -> int:
        """Longest time in ms by which a timestamp may be behind the broker's time."""

    @property
    def message_timestamp_after_max_ms(self) -> int:
        """Longest time in ms by which a timestamp may be ahead of the broker's time."""


class BatchRefusal(msgspec.Struct, frozen=True):
    """The refusal of a batch: the error, a sentence, and the faulty records (index, sentence)."""

    error: ErrorCode
    message: str
    record_errors: tuple[tuple[int, str], ...] = ()
    is_by_log: bool = True
    """Whether Kafka makes this check after it has found the partition's log; False for those of
    `ProduceRequest.validateRecords`."""


def check_produced(
    view: memoryview, api_version: int, rules: ProduceRules, now_ms: int
) -> BatchHeader | BatchRefusal:
    """Return the header of the one valid batch, `view[:header.size]`, or its refusal.

    `view` has to be writable if the header's max timestamp is not that of the records: it is corrected. Bytes
    after the batch that are no whole batch are ignored, as in Kafka.
    """
    return check_plain(view, rules, now_ms) or _check_closely(view, api_version, rules, now_ms)


def check_plain(view: memoryview, rules: ProduceRules, now_ms: int) -> BatchHeader | None:
    """Return the header of a batch that is uncompressed, valid and alone in `view`; None if it needs
    `_check_closely`.
    """
    seen = inspect(
        view,
        rules.max_message_bytes,
        now_ms,
        rules.message_timestamp_before_max_ms,
        rules.message_timestamp_after_max_ms,
    )
    if seen is None:
        return None
    fields, keyless = seen
    if (keyless and rules.compacts) or not (INSPECTS_CRC or crc_matches(view, 0, len(view))):
        return None
    return BatchHeader(*fields)


def _check_closely(
    view: memoryview, api_version: int, rules: ProduceRules, now_ms: int
) -> BatchHeader | BatchRefusal:
    """Run all checks one by one, in Kafka's order, for unusual batches and for the reason of a refusal."""
    available = len(view)
    if available < HEADER_SIZE:
        return _refuse_frame(view)
    header = read_header(view)
    size = LOG_OVERHEAD + header.batch_length
    if header.magic != MAGIC or not HEADER_SIZE <= size <= available:
        return _refuse_frame(view)
    if size != available and (refusal := _refuse_after(view[size:])):
        return refusal
    attributes = header.attributes
    codec = attributes & CODEC_MASK
    if codec and (refusal := _refuse_codec(codec, api_version)):
        return refusal
    if header.base_offset != 0:
        return _invalid(f"the base offset of a produced batch is 0, not {header.base_offset}")
    if size > rules.max_message_bytes:
        return BatchRefusal(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"a batch of {size} bytes is larger than max.message.bytes ({rules.max_message_bytes})",
        )
    if not crc_matches(view, 0, size):
        return BatchRefusal(ErrorCode.CORRUPT_MESSAGE, "the batch does not match its CRC")
    if refusal := _refuse_fields(header):
        return refusal
    try:
        newest, oldest, keyless = check_records(header, view[HEADER_SIZE:size], rules.max_message_bytes)
    except RecordsDamaged as damage:
        return _invalid(str(damage))
    return _check_times(view, header, newest, oldest, keyless, rules, now_ms)


def _refuse_fields(header: BatchHeader) -> BatchRefusal | None:
    count = header.record_count
    if count <= 0 or count != header.last_offset_delta + 1:
        return _invalid(f"a batch of {count} records that ends at offset delta {header.last_offset_delta}")
    if header.attributes & CONTROL_FLAG:
        return _invalid("a client may not write control records")
    if header.producer_id >= 0 and header.base_sequence < 0:
        return _invalid(f"producer id {header.producer_id} without a sequence")
    return None


def _invalid(message: str, *, is_by_log: bool = True) -> BatchRefusal:
    return BatchRefusal(ErrorCode.INVALID_RECORD, message, is_by_log=is_by_log)


def _next_size(view: memoryview) -> int | None:
    """Return the size of the batch or message at the start of `view`, 0 if it is cut short, None if there is
    none.
    """
    if len(view) < LOG_OVERHEAD:
        return 0
    length: int = _length_at(view, 8)[0]
    if length < SMALLEST_MESSAGE:
        return None
    if len(view) < _UP_TO_MAGIC:
        return 0
    if view[_UP_TO_MAGIC - 1] > MAGIC:
        return None
    size = LOG_OVERHEAD + length
    return size if size <= len(view) else 0


def _refuse_frame(view: memoryview) -> BatchRefusal:
    size = _next_size(view)
    if size is None:
        return BatchRefusal(ErrorCode.CORRUPT_MESSAGE, "bytes that begin no record batch")
    if size == 0:
        return _invalid("no whole record batch", is_by_log=False)
    if view[_UP_TO_MAGIC - 1] != MAGIC:
        return _invalid(
            "produce requests from version 3 on carry record batches with magic 2", is_by_log=False
        )
    return BatchRefusal(ErrorCode.CORRUPT_MESSAGE, f"a batch of {size} bytes is shorter than its header")


def _refuse_after(rest: memoryview) -> BatchRefusal | None:
    size = _next_size(rest)
    if size is None:
        return BatchRefusal(ErrorCode.CORRUPT_MESSAGE, "the bytes after the batch begin no record batch")
    if size:
        return _invalid("more than one record batch for one partition", is_by_log=False)
    return None


def _refuse_codec(codec: int, api_version: int) -> BatchRefusal | None:
    if codec == Codec.ZSTD and api_version < FIRST_VERSION_WITH_ZSTD:
        return BatchRefusal(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
            f"zstd needs produce version {FIRST_VERSION_WITH_ZSTD}, not {api_version}",
            is_by_log=False,
        )
    if codec > Codec.ZSTD:
        return _invalid(f"unknown compression codec {codec}")
    return None


def _check_times(
    view: memoryview,
    header: BatchHeader,
    newest: int,
    oldest: int,
    keyless: int,
    rules: ProduceRules,
    now_ms: int,
) -> BatchHeader | BatchRefusal:
    """Check the times and keys of a batch; return its header, or a refusal if one record breaks a rule."""
    if header.attributes & LOG_APPEND_TIME_FLAG:
        return _blame(view, header, rules, now_ms) or header
    untimely = False
    if not rules.stamps_append_time:
        untimely = (
            newest > now_ms + rules.message_timestamp_after_max_ms
            or oldest < now_ms - rules.message_timestamp_before_max_ms
        )
        if newest != header.max_timestamp:
            set_max_timestamp(view, 0, newest)
            header = read_header(view)
    if untimely or (keyless and rules.compacts):
        return _blame(view, header, rules, now_ms) or header
    return header


def _blame(view: memoryview, header: BatchHeader, rules: ProduceRules, now_ms: int) -> BatchRefusal | None:
    """Return the refusal that lists the records that the topic does not accept, 1000 of each kind at most.

    A bad timestamp decides the error code. None if all records are accepted.
    """
    keyless: list[tuple[int, str]] = []
    untimely: list[tuple[int, str]] = []
    for index, record in enumerate(read_records(view, rules.max_message_bytes)):
        if rules.compacts and record.key is None and len(keyless) < _MOST_BLAMED:
            keyless.append((index, KEY_MISSING))
        if complaint := complain_of_time(record.timestamp, header.uses_log_append_time, rules, now_ms):
            untimely.append((index, complaint))
            if len(untimely) == _MOST_BLAMED:
                break
    if not keyless and not untimely:
        return None
    error = ErrorCode.INVALID_TIMESTAMP if untimely else ErrorCode.INVALID_RECORD
    record_errors = tuple(sorted(keyless + untimely))
    first_index, first_message = record_errors[0]
    return BatchRefusal(
        error, f"records refused, the first at index {first_index}: {first_message}", record_errors
    )


def complain_of_time(timestamp: int, marked: bool, rules: ProduceRules, now_ms: int) -> str | None:
    """Return the fault of a record's timestamp, or None. `marked`: the producer set LogAppendTime."""
    if not rules.stamps_append_time and timestamp != NO_TIMESTAMP:
        oldest = now_ms - rules.message_timestamp_before_max_ms
        newest = now_ms + rules.message_timestamp_after_max_ms
        if oldest <= timestamp <= newest:
            return None
        return f"timestamp {timestamp} is not between {oldest} and {newest}"
    if marked:
        return "only the broker may mark a batch LogAppendTime"
    return None
