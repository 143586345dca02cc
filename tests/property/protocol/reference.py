"""A second encoder: slow, plain, straight from the declarations, sharing nothing with the compiled one."""

from __future__ import annotations

import struct
import typing

from kcompat.protocol.schema import Wire, version_range

CODES = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
}


def encode(message, version: int) -> bytes:
    """The whole message at a version."""
    return _struct(message, version, version in type(message).flexible)


def _uvarint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value % 128 + 128]) + _uvarint(value // 128)


def _length(count: int | None, flexible: bool, code: str) -> bytes:
    if flexible:
        return _uvarint(0 if count is None else count + 1)
    return struct.pack(">" + code, -1 if count is None else count)


def _struct(value, version: int, flexible: bool) -> bytes:
    out, tags = b"", {}
    for name, hint in typing.get_type_hints(type(value), include_extras=True).items():
        wire = next((extra for extra in typing.get_args(hint) if isinstance(extra, Wire)), None)
        if wire is None or version not in version_range(wire.versions):
            continue
        field = getattr(value, name)
        is_array = "list[" in str(typing.get_args(hint)[0])
        wrote = _field(field, wire, is_array, version, flexible and wire.flexible)
        if wire.tag is None:
            out += wrote
        elif field != getattr(type(value)(), name):
            tags[wire.tag] = wrote
    if flexible:
        out += _uvarint(len(tags))
        for tag, wrote in sorted(tags.items()):
            out += _uvarint(tag) + _uvarint(len(wrote)) + wrote
    return out


def _field(value, wire: Wire, is_array: bool, version: int, flexible: bool) -> bytes:
    nullable = version in version_range(wire.nullable)
    if is_array:
        if value is None:
            return _length(None, flexible, "i")
        elements = [_one(element, wire, version, flexible) for element in value]
        return _length(len(elements), flexible, "i") + b"".join(elements)
    if wire.kind == "struct" and nullable:
        null = b"\xff" if wire.tag is None else b"\x00"
        return null if value is None else b"\x01" + _one(value, wire, version, flexible)
    return _one(value, wire, version, flexible)


def _one(value, wire: Wire, version: int, flexible: bool) -> bytes:
    if wire.kind == "struct":
        return _struct(value, version, flexible)
    if wire.kind == "uuid":
        return value
    if wire.kind in CODES:
        return struct.pack(">" + CODES[wire.kind], value)
    code = "h" if wire.kind == "string" else "i"
    if value is None:
        return _length(None, flexible, code)
    data = value.encode() if wire.kind == "string" else bytes(value)
    return _length(len(data), flexible, code) + data
