"""Records of internal topics as JSON: Kafka's `ApiMessageFormatter`, in the form of its `JsonConverter`."""

from __future__ import annotations

import base64
import json
import struct
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kcompat.log.dump.internal import types_of
from kcompat.protocol.schema import ProtocolViolation

if TYPE_CHECKING:
    from collections.abc import Container

    from kcompat.commands.console.consumed import Consumed
    from kcompat.protocol.message import Message

_PREFIX: Final = struct.Struct(">h")
_UNKNOWN: Final = "unknown"
_KEY_VERSION: Final = 0


def as_json(topic: str, key_versions: Container[int], record: Consumed) -> bytes:
    """Return a record of an internal topic as JSON, or nothing if the version of its key is not in
    `versions`.
    """
    if record.key is None or len(record.key) < _PREFIX.size:
        return b""
    (number,) = _PREFIX.unpack_from(record.key)
    if number not in key_versions:
        return b""
    key_type, value_type = types_of(topic)[number]
    shown: dict[str, Any] = {
        "key": {"version": number, "data": _plain(_read(key_type, record.key, _KEY_VERSION))},
        "value": None,
    }
    if record.value is not None:
        (version,) = _PREFIX.unpack_from(record.value)
        is_known = version in value_type.versions
        data = _plain(_read(value_type, record.value, version)) if is_known else _UNKNOWN
        shown["value"] = {"version": version, "data": data}
    return json.dumps(shown, separators=(",", ":"), ensure_ascii=False).encode()


def _read(kind: type[Message], data: bytes, version: int) -> Message | None:
    try:
        return kind.decode(memoryview(data), version, _PREFIX.size)
    except ProtocolViolation:
        return None


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return {_camel(name): _plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, (bytes, memoryview)):
        return base64.b64encode(value).decode()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
