"""Keys and values of records in JSON: text, or base64 for bytes that are not text."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from kcompat.errors import UsageError
from kcompat.instrumentation.new_records import as_json


class Base64(Struct, frozen=True, forbid_unknown_fields=True):
    """Bytes in base64, for those that are not UTF-8."""

    base64: bytes


Data: TypeAlias = str | Base64 | None
"""A key, a value or a header: text in UTF-8, any bytes in base64, or null."""


class Encoded(Struct, frozen=True, forbid_unknown_fields=True):
    """Bytes in base64, or a value to write as JSON; exactly one of them is set."""

    base64: bytes | UnsetType = UNSET
    json: Any = UNSET


NewData: TypeAlias = str | Encoded | None
"""A key, a value or a header to write: text in UTF-8, any bytes in base64, JSON, or null."""


def bytes_of(data: NewData) -> bytes | None:
    """Return the bytes that a JSON value stands for. Raises UsageError."""
    match data:
        case None:
            return None
        case str():
            return data.encode()
        case Encoded(base64=bytes() as content, json=UnsetType()):
            return content
        case Encoded(base64=UnsetType(), json=value) if value is not UNSET:
            return as_json("JSON", value)
    raise UsageError("a key, value or header in braces has either base64 or json")


def shown(data: bytes | None) -> Data:
    """Return bytes in the form of JSON: as text if they are UTF-8."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return Base64(data)
