"""Errors of reading records."""

from __future__ import annotations


class RecordsDamaged(Exception):  # noqa: N818 - says what is the matter, as Kafka's CorruptRecordException does
    """Bytes that are no records, or that expand beyond every bound. On the wire: INVALID_RECORD."""


class MessageCorrupt(RecordsDamaged):
    """A message of an old format that does not match its CRC, or no message. On the wire: CORRUPT_MESSAGE."""


class MessageTooLarge(RecordsDamaged):
    """A message of an old format beyond `max.message.bytes`. On the wire: MESSAGE_TOO_LARGE."""
