"""The rows of a dump, one for each item of a file, in the order of the file."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any

import msgspec

from kcompat.protocol.uuids import uuid_to_text

if TYPE_CHECKING:
    from collections.abc import Mapping

DAMAGE = "damage"

_UNPRINTABLE = re.compile(r"[^\x20-\x7e\u00a0-\ud7ff\ue000-\U0010ffff]|\\")


class Row(msgspec.Struct, frozen=True):
    """One item of a file: its kind, its byte position, and its fields."""

    kind: str
    at: int
    fields: Mapping[str, Any]


def damage(at: int, message: str) -> Row:
    """Return a row that reports a fault at a byte of the file."""
    return Row(DAMAGE, at, {"message": message})


def plain(value: Any) -> Any:
    """Return a value in its JSON form: structs as objects with Kafka's camelCase names, bytes as text or as
    base64.
    """
    if isinstance(value, msgspec.Struct):
        return {_camel(name): _field(name, getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, (bytes, memoryview)):
        return _bytes(bytes(value))
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return value


def as_json(path: str, row: Row) -> str:
    """Return the row as one line of JSON."""
    content = {"file": path, "kind": row.kind, "at": row.at, **row.fields}
    return msgspec.json.encode(content).decode()


def as_text(path: str, row: Row) -> str:
    """Return the row as one line of text, without characters that could control a terminal."""
    if row.kind == DAMAGE:
        return f"{row.at:>10}  DAMAGE  {path}: {_escaped(str(row.fields['message']))}"
    fields = " ".join(f"{name}: {_text(value)}" for name, value in row.fields.items())
    return f"{row.at:>10}  {row.kind:<6}  {fields}"


def _field(name: str, value: Any) -> Any:
    is_uuid = isinstance(value, bytes) and name.endswith("_id")
    return uuid_to_text(value) if is_uuid else plain(value)


def _bytes(value: bytes) -> str | dict[str, str]:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}


def _text(value: Any) -> str:
    if isinstance(value, str):
        return _escaped(value)
    return _escaped(msgspec.json.encode(value).decode())


def _escaped(text: str) -> str:
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)
