"""Keys and values of records in JSON: text, or base64 for bytes that are no text."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct


class Base64(Struct, frozen=True, forbid_unknown_fields=True):
    """Bytes in base64, for those that are not UTF-8."""

    base64: bytes


Data: TypeAlias = str | Base64 | None
"""A key, a value or a header: text in UTF-8, any bytes in base64, or null."""


def bytes_of(data: Data) -> bytes | None:
    """Return the bytes that JSON stands for."""
    return data.base64 if isinstance(data, Base64) else data if data is None else data.encode()


def shown(data: bytes | None) -> Data:
    """Return bytes in the form of JSON: as text if they are UTF-8."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return Base64(data)
