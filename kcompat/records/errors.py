"""Errors of reading records."""

from __future__ import annotations


class RecordsDamaged(Exception):  # noqa: N818 - says what is the matter, as Kafka's CorruptRecordException does
    """The bytes are not records, or expand beyond every bound. On the wire: INVALID_RECORD."""


class MessageCorrupt(RecordsDamaged):
    """A message of an old format does not match its CRC, or is not a message. On the wire:
    CORRUPT_MESSAGE.
    """


class MessageTooLarge(RecordsDamaged):
    """A message of an old format is larger than `max.message.bytes`. On the wire: MESSAGE_TOO_LARGE."""
