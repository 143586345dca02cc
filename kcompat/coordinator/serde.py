"""Records of a coordinator's topic as bytes, in the form that Kafka's coordinators have in common.

A key is an int16 record type and its fields, a value an int16 version and its fields. Kafka's counterpart is
`CoordinatorRecordSerde`.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kcompat.coordinator.operation import CoordinatorRecord
from kcompat.protocol.message import decoder
from kcompat.protocol.schema import ProtocolViolation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kcompat.protocol.message import Message
    from kcompat.protocol.schema import Decoder

    _Decoders = tuple[Decoder[Message], Decoder[Message]]
    """Decoders of a key and of its value."""

_PREFIX = struct.Struct(">h")
_unpack_prefix = _PREFIX.unpack_from
_KEY_VERSION = 0


class RecordSerde:
    """A `Serde` of message classes, which writes values at a chosen version and reads all versions."""

    def __init__(
        self,
        types: Mapping[int, tuple[type[Message], type[Message]]],
        value_version: Callable[[Message], int],
    ) -> None:
        """`types` has the classes of key and value by record type; `value_version(value)` returns the version
        to write.
        """
        self._types = types
        self._value_version = value_version
        self._decoders: dict[tuple[bytes, bytes | None], _Decoders] = {}
        """Decoders by the first two bytes of key and value. A big partition has a million records of few
        versions.
        """

    def serialize(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        """Return key and value as bytes of a log record."""
        key = _join(type(record.key).record_type, record.key.encode(_KEY_VERSION))
        if record.value is None:
            return key, None
        version = self._value_version(record.value)
        return key, _join(version, record.value.encode(version))

    def deserialize(self, key: bytes, value: bytes | None) -> CoordinatorRecord | None:
        """Return the record, or None for an unknown key type. Raises ProtocolViolation on damage."""
        found = self._decoders.get((key[:2], value and value[:2])) or self._find_decoders(key, value)
        if found is None:
            return None
        read_key, read_value = found
        parsed_key = read_key(memoryview(key), _PREFIX.size)[0]
        if value is None:
            return CoordinatorRecord(parsed_key, None)
        return CoordinatorRecord(parsed_key, read_value(memoryview(value), _PREFIX.size)[0])

    def _find_decoders(self, key: bytes, value: bytes | None) -> _Decoders | None:
        """Return the decoders for the record type and value version of this record, and cache them."""
        types = self._types.get(_prefix(key))
        if types is None:
            return None
        key_type, value_type = types
        version = value_type.versions[0] if value is None else _prefix(value)
        if version not in value_type.versions:
            raise ProtocolViolation(f"version {version} of {value_type.__name__} is not known")
        found = decoder(key_type, _KEY_VERSION), decoder(value_type, version)
        self._decoders[key[:2], value and value[:2]] = found
        return found


def _prefix(data: bytes) -> int:
    try:
        number: int = _unpack_prefix(data)[0]
    except struct.error:
        raise ProtocolViolation(f"a record part of {len(data)} bytes has no version") from None
    return number


def _join(number: int, parts: Sequence[bytes]) -> bytes:
    return b"".join((_PREFIX.pack(number), *parts))
