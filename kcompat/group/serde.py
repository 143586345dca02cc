"""The record formats of `__consumer_offsets`.

A key is an int16 record type and its fields, a value an int16 version and its fields. Values are written as
Kafka 3.9 writes them: offsets at version 3 (1 when the client asked for a retention of its own), groups at
version 3. Every version is read. Offset keys of type 0, which old brokers wrote, are read like those of
type 1.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kcompat.coordinator.operation import CoordinatorRecord
from kcompat.protocol.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from kcompat.protocol.schema import ProtocolViolation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.protocol.message import Message

_PREFIX = struct.Struct(">h")
_KEY_VERSION = 0

_KEYS: dict[int, tuple[type[Message], type[Message]]] = {
    0: (OffsetCommitKey, OffsetCommitValue),
    1: (OffsetCommitKey, OffsetCommitValue),
    2: (GroupMetadataKey, GroupMetadataValue),
}
OFFSET_VALUE_VERSION = 3
OFFSET_VALUE_WITH_EXPIRY_VERSION = 1
GROUP_VALUE_VERSION = 3


class GroupSerde:
    """Between records and their bytes."""

    def serialize(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        """Key and value as they stand in the log."""
        key = _join(type(record.key).record_type, record.key.encode(_KEY_VERSION))
        if record.value is None:
            return key, None
        version = _value_version(record.value)
        return key, _join(version, record.value.encode(version))

    def deserialize(self, key: bytes, value: bytes | None) -> CoordinatorRecord | None:
        """The record; None for a key type that is not known here. Raises ProtocolViolation on damage."""
        types = _KEYS.get(_prefix(key))
        if types is None:
            return None
        key_type, value_type = types
        parsed_key = key_type.decode(memoryview(key), _KEY_VERSION, _PREFIX.size)
        if value is None:
            return CoordinatorRecord(parsed_key, None)
        version = _prefix(value)
        if version not in value_type.versions:
            raise ProtocolViolation(f"version {version} of {value_type.__name__} is not known")
        return CoordinatorRecord(parsed_key, value_type.decode(memoryview(value), version, _PREFIX.size))


def _value_version(value: Message) -> int:
    if isinstance(value, OffsetCommitValue):
        return OFFSET_VALUE_VERSION if value.expire_timestamp == -1 else OFFSET_VALUE_WITH_EXPIRY_VERSION
    return GROUP_VALUE_VERSION


def _prefix(data: bytes) -> int:
    if len(data) < _PREFIX.size:
        raise ProtocolViolation(f"a record part of {len(data)} bytes has no version")
    number: int = _PREFIX.unpack_from(data)[0]
    return number


def _join(number: int, parts: Sequence[bytes]) -> bytes:
    return b"".join((_PREFIX.pack(number), *parts))
