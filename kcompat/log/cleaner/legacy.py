"""Cleaning messages of the old formats (magic 0 and 1), which a log that an old Kafka began may hold.

The old formats have no transactions and no delete horizon: a tombstone is removed once its segment is older
than the newest clean segment by `delete.retention.ms`. Each outer message counts as one batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.log.cleaner.batches import Kept
from kcompat.records.compression import Codec
from kcompat.records.conversion import encode_wrapper
from kcompat.records.errors import MessageCorrupt, RecordsDamaged
from kcompat.records.layout import LOG_APPEND_TIME_FLAG
from kcompat.records.message_set import (
    MAGIC_V1,
    encode_message,
    read_messages,
    shallow_messages,
)

if TYPE_CHECKING:
    from kcompat.log.cleaner.job import CleanJob, SegmentPart
    from kcompat.log.cleaner.offset_map import OffsetMap
    from kcompat.records.message_set import LegacyMessage


def _open(data: bytes, max_message_bytes: int) -> tuple[LegacyMessage, list[LegacyMessage]]:
    """Return the outer message and the messages inside it (itself, unless it is a wrapper).

    Raises RecordsDamaged.
    """
    try:
        return next(shallow_messages(data)), list(read_messages(data, max_message_bytes))
    except (MessageCorrupt, StopIteration) as damage:
        raise RecordsDamaged(str(damage)) from damage


def keys_of_message(
    batch: memoryview, max_message_bytes: int, first_dirty: int
) -> tuple[int, list[tuple[bytes, int]]]:
    """Return the last offset of an outer message, and the keys and offsets inside from the first dirty offset
    on.
    """
    outer, messages = _open(bytes(batch), max_message_bytes)
    keys = [(m.key, m.offset) for m in messages if m.key is not None and m.offset >= first_dirty]
    return outer.offset, keys


class LegacyCleaner:
    """Filter for the messages of one segment."""

    __slots__ = ("_keeps_tombstones", "_max_message_bytes", "_newest")

    def __init__(self, job: CleanJob, newest: OffsetMap, part: SegmentPart) -> None:
        self._newest = newest
        self._max_message_bytes = job.rules.max_message_bytes
        clean = [other for other in job.parts if other.base_offset < job.first_dirty_offset]
        horizon = clean[-1].modified_ms - job.rules.delete_retention_ms if clean else 0
        self._keeps_tombstones = part.modified_ms > horizon

    def clean(self, batch: memoryview) -> tuple[Kept | None, int]:
        """Return the part of an outer message to keep, or None if it is dropped, and its number of messages.

        Raises:
            RecordsDamaged: the messages inside cannot be read.
        """
        outer, messages = _open(bytes(batch), self._max_message_bytes)
        kept = [message for message in messages if self._stays(message)]
        if not kept:
            return None, len(messages)
        last_offset = kept[-1].offset
        timestamp = outer.timestamp if outer.uses_log_append_time else max(m.timestamp for m in kept)
        data: bytes | memoryview = batch
        if len(kept) < len(messages):
            data = _wrap(outer, kept, timestamp)
        return Kept(data, last_offset, timestamp, len(kept)), len(messages)

    def _stays(self, message: LegacyMessage) -> bool:
        if message.offset > self._newest.latest:
            return True
        if message.key is None or (message.value is None and not self._keeps_tombstones):
            return False
        return message.offset >= self._newest.get(message.key)


def _wrap(outer: LegacyMessage, kept: list[LegacyMessage], timestamp: int) -> bytes:
    """Return a wrapper around the kept messages; in magic 1 their offsets count from the first message."""
    base = kept[0].offset if outer.magic == MAGIC_V1 else 0
    inner = b"".join(encode_message(m.offset - base, m.magic, 0, m.timestamp, m.key, m.value) for m in kept)
    return encode_wrapper(
        inner,
        Codec(outer.codec),
        outer.magic,
        last_offset=kept[-1].offset,
        attributes=outer.attributes & LOG_APPEND_TIME_FLAG,
        timestamp=timestamp,
    )
