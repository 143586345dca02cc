"""Conversion between records v2 and messages of magic 0 or 1: the pure-Python implementation of
`_conversion.c`.

Used through `conversion` alone.
"""

from __future__ import annotations

from enum import IntFlag
from typing import TYPE_CHECKING

from kcompat.records._python import Fault, read
from kcompat.records.errors import MessageCorrupt, MessageTooLarge, RecordsDamaged
from kcompat.records.layout import CODEC_MASK, LOG_APPEND_TIME_FLAG, NO_TIMESTAMP
from kcompat.records.message_set import encode_message, message_at
from kcompat.records.record import append_record

if TYPE_CHECKING:
    from kcompat.records._python import Buffer
    from kcompat.records.message_set import LegacyMessage

_SIGN = 1 << 63
_NEVER = _SIGN - 1


class Flag(IntFlag):
    """Facts about the topic and about the wrapper of the messages, for `write_records`."""

    KEYS_WANTED = 1
    """The topic accepts no message without a key."""
    BROKERS_TIME = 2
    """The topic stamps messages with the broker's time and accepts any timestamp."""
    INSIDE = 4
    """The messages come from a wrapper; their own LogAppendTime marks are ignored."""
    MARKED = 8
    """The wrapper is marked LogAppendTime: its timestamp is that of all its messages."""


def write_messages(
    records: Buffer,
    position: int,
    room: int,
    magic: int,
    attributes: int,
    base_offset: int,
    base_timestamp: int,
    first_offset: int,
    origin: int,
    /,
) -> tuple[bytes, int, int, int, int, int, int]:
    """Convert the records v2 from `position` on to plain messages, until these have at least `room` bytes.

    Records below `first_offset` are left out. Offsets count from `origin`, or from the first record if
    `origin` is negative. If `attributes` include LogAppendTime, `base_timestamp` is the time of all messages.

    Returns, up to the first fault: the messages; the position of the next record; the `Fault`; the
    number of records; the origin; the last offset (-1 without any); the largest timestamp (at least -1).
    Raises `ValueError` for a position outside the buffer.
    """
    data, out = bytes(records), bytearray()
    count, last, newest = 0, -1, NO_TIMESTAMP
    found, after, fault = read(data, position, 1, base_offset, base_timestamp)
    while found and len(out) < room:
        last, timestamp, key, value, _ = found[0]
        if attributes & LOG_APPEND_TIME_FLAG:
            timestamp = base_timestamp
        if not count and origin < 0:
            origin = last
        if timestamp > newest:
            newest = timestamp
        if last >= first_offset:
            out += encode_message(_difference(last, origin), magic, attributes, timestamp, key, value)
        count += 1
        position = after
        found, after, fault = read(data, position, 1, base_offset, base_timestamp)
    if len(out) >= room:
        fault = Fault.WHOLE  # bytes after the requested records were not examined
    return bytes(out), position, fault, count, origin, last, newest


def write_records(
    messages: Buffer,
    position: int,
    room: int,
    largest: int,
    magic: int,
    flags: int,
    index: int,
    base_timestamp: int,
    earliest: int,
    latest: int,
    /,
) -> tuple[bytes, int, int, int, int, int]:
    """Convert the messages from `position` on to records v2 with the offset deltas `index`, `index` + 1, ...

    The conversion ends at the first place without a whole, sound, plain message of `magic` and at most
    `largest` bytes. It also ends at a message that the topic does not accept (`Flag`; or a timestamp other
    than -1 before `earliest` or after `latest`), and when the records have more than `room` bytes.
    `base_timestamp` is that of the batch, which message 0 sets, or the time of all messages (`Flag.MARKED`).

    Returns the records; the position after the last message; the number of messages; the base timestamp; the
    largest timestamp (at least -1); the last message's offset as stored (-1 without any). Raises `ValueError`
    for a position outside the buffer.
    """
    if not 0 <= position <= len(messages):
        raise ValueError("a position outside the messages")
    out = bytearray()
    count, newest, last = 0, NO_TIMESTAMP, -1
    is_marked = flags & Flag.MARKED != 0
    asks = flags != Flag(0) or earliest > -1 or latest < _NEVER
    while len(out) <= room:
        try:
            found = message_at(messages, position, largest)
        except (MessageCorrupt, MessageTooLarge, RecordsDamaged):
            break
        if found is None:
            break
        message, end = found
        offset, its_magic, attributes, timestamp, key, value = message
        if its_magic != magic or attributes & CODEC_MASK:
            break
        if is_marked:
            timestamp = base_timestamp
        if (asks or attributes or timestamp < NO_TIMESTAMP) and _offends(
            message, timestamp, flags, earliest, latest
        ):
            break
        if index + count == 0:
            base_timestamp = timestamp
        if timestamp > newest:
            newest = timestamp
        append_record(out, _difference(timestamp, base_timestamp), index + count, key, value)
        position, last = end, offset
        count += 1
    return bytes(out), position, count, base_timestamp, newest, last


def write_wrapper(packed: Buffer, offset: int, magic: int, attributes: int, timestamp: int, /) -> bytes:
    """Return the message without a key whose value is `packed`; magic 0 has no timestamp."""
    return encode_message(offset, magic, attributes, timestamp, None, bytes(packed))


def _offends(message: LegacyMessage, timestamp: int, flags: int, earliest: int, latest: int) -> bool:
    """Return whether a topic does not accept a message with this timestamp and key."""
    if (message.key is None and flags & Flag.KEYS_WANTED) or timestamp < NO_TIMESTAMP:
        return True
    if timestamp == NO_TIMESTAMP or flags & Flag.BROKERS_TIME:
        return bool(flags & Flag.MARKED) if flags & Flag.INSIDE else message.uses_log_append_time
    return not earliest <= timestamp <= latest


def _difference(value: int, base: int) -> int:
    """Return the difference as a Java `long`, which wraps around at 64 bits."""
    difference = value - base
    if -_SIGN <= difference < _SIGN:
        return difference
    return (difference + _SIGN) % (2 * _SIGN) - _SIGN
