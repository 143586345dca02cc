"""Reading the request header, and parts of messages for the decoders that `decoding` generates."""

from __future__ import annotations

import struct
from typing import Final, NoReturn

from kcompat.protocol.schema import MAX_UNKNOWN_TAGS, ProtocolViolation

SHORT_BYTES: Final = [struct.Struct(f"{n}s").unpack_from for n in range(128)]
"""Functions that read n bytes, by n below 128: faster than a slice, and they check the end."""

_CORRELATION_ID_AT: Final = struct.Struct(">i").unpack_from
_CORRELATION_ID_AND_LENGTH: Final = struct.Struct(">ih").unpack_from


def read_request_header(view: memoryview, header_version: int) -> tuple[int, str | None, int]:
    """Return correlation id, client id and the position of the body, from a header of a known version.

    Raises ProtocolViolation for a header that is cut short.
    """
    client_id = None
    end = 10
    try:
        if not header_version:
            return _CORRELATION_ID_AT(view, 4)[0], None, 8
        correlation_id, length = _CORRELATION_ID_AND_LENGTH(view, 4)
        # The client id keeps its int16 length in the flexible header too.
        if 0 <= length < 128:
            client_id = SHORT_BYTES[length](view, 10)[0].decode("utf-8", "replace")
            end += length
        elif length >= 0:
            client_id, end = read_text(view, 10, length)
        if header_version == 2:
            end = end + 1 if not view[end] else skip_tags(view, end)
    except (struct.error, IndexError) as fault:
        raise ProtocolViolation("request header is cut short") from fault
    return correlation_id, client_id, end


def read_uvarint(view: memoryview, pos: int) -> tuple[int, int]:
    """Read an unsigned varint of at most five bytes; return the value and the position after it."""
    first = view[pos]
    if first < 128:
        return first, pos + 1
    second = view[pos + 1]
    if second < 128:
        return first & 0x7F | second << 7, pos + 2
    value = first & 0x7F | (second & 0x7F) << 7
    for shift in (14, 21, 28):
        byte = view[pos + shift // 7]
        value |= (byte & 0x7F) << shift
        if byte < 128:
            if value > 0xFFFFFFFF:
                break
            return value, pos + shift // 7 + 1
    raise ProtocolViolation("varint does not fit 32 bits")


def read_compact_text(view: memoryview, pos: int, nullable: bool) -> tuple[str | None, int]:
    """Read a compact string with its length; return it and the position after it."""
    length, pos = read_uvarint(view, pos)
    if nullable and not length:
        return None, pos
    return read_text(view, pos, length - 1)


def read_text(view: memoryview, pos: int, length: int) -> tuple[str, int]:
    """Read a string of `length` bytes; return it and the position after it.

    Raises ProtocolViolation for null.
    """
    end = pos + length
    if not pos <= end <= len(view):
        bad_length(length)
    return str(view[pos:end], "utf-8", "replace"), end


def skip_tags(view: memoryview, pos: int) -> int:
    """Skip a tag section whose tags are all unknown; return the position after it."""
    count, pos = read_uvarint(view, pos)
    if count > MAX_UNKNOWN_TAGS or count * 2 > len(view) - pos:
        too_many_tags(count)
    for _ in range(count):
        _, pos = read_uvarint(view, pos)
        size, pos = read_uvarint(view, pos)
        pos += size
        if pos > len(view):
            bad_length(size)
    return pos


def bad_length(length: int) -> NoReturn:
    """Raise ProtocolViolation for a length that is null where it must not be, or past the end."""
    raise ProtocolViolation(f"length {length} is null or more than there is")


def bad_count(count: int) -> NoReturn:
    """Raise ProtocolViolation for an array length that is null or more than the bytes left can hold."""
    raise ProtocolViolation(f"array of {count} elements is null or more than there is")


def too_many_values() -> NoReturn:
    """Raise ProtocolViolation for more array elements than one message may have."""
    raise ProtocolViolation("too many values in one message")


def too_many_tags(count: int) -> NoReturn:
    """Raise ProtocolViolation for more tagged fields than fit into the bytes left, or too many unknown."""
    raise ProtocolViolation(f"{count} tagged fields")


def bad_tag(tag: int) -> NoReturn:
    """Raise ProtocolViolation for a tagged field that is longer or shorter than its size says."""
    raise ProtocolViolation(f"tagged field {tag} does not have its size")
