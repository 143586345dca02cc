"""Messages of magic 0 and 1, built and taken apart here by themselves, as a second opinion to ours."""

from __future__ import annotations

import gzip
import struct
import zlib
from typing import TYPE_CHECKING, NamedTuple

import lz4.frame
import snappy

from kcompat.records.legacy_lz4 import with_old_checksum, with_right_checksum

if TYPE_CHECKING:
    from collections.abc import Iterator

GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
CODECS = {"none": 0, "gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4}
APPEND_TIME = 8
XERIAL = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)


class Old(NamedTuple):
    """One message as it stands in a set."""

    offset: int
    magic: int
    attributes: int
    timestamp: int
    key: bytes | None
    value: bytes | None


def message(
    magic: int, offset: int, key: bytes | None, value: bytes | None, timestamp: int = 0, attributes: int = 0
) -> bytes:
    """One message with a right CRC."""
    content = struct.pack(">bb", magic, attributes)
    if magic:
        content += struct.pack(">q", timestamp)
    for field in (key, value):
        content += struct.pack(">i", -1 if field is None else len(field)) + (field or b"")
    return seal(offset, content)


def seal(offset: int, content: bytes) -> bytes:
    """A message around whatever follows its CRC."""
    return struct.pack(">qiI", offset, len(content) + 4, zlib.crc32(content)) + content


def wrap(magic: int, offset: int, inner: bytes, codec: int, timestamp: int = 0, marks: int = 0) -> bytes:
    """A wrapper around a set."""
    return message(magic, offset, None, pack(magic, inner, codec), timestamp, codec | marks)


def pack(magic: int, inner: bytes, codec: int) -> bytes:
    """A set, compressed as the clients of that format did."""
    if codec == GZIP:
        return gzip.compress(inner)
    if codec == SNAPPY:
        block: bytes = snappy.compress(inner)
        return XERIAL + struct.pack(">i", len(block)) + block
    frame: bytes = lz4.frame.compress(inner, block_linked=False, store_size=False)
    return frame if magic else with_old_checksum(frame)


def unpack(magic: int, packed: bytes, codec: int) -> bytes:
    """Return the contents of a wrapper; format v0 must have the old LZ4 checksum."""
    if codec == GZIP:
        return gzip.decompress(packed)
    if codec == SNAPPY:
        assert packed.startswith(XERIAL)
        at, out = len(XERIAL), b""
        while at < len(packed):
            size = struct.unpack_from(">i", packed, at)[0]
            out += snappy.uncompress(packed[at + 4 : at + 4 + size])
            at += 4 + size
        return out
    assert codec == LZ4
    if not magic:
        assert with_old_checksum(packed) == packed
        packed = with_right_checksum(packed)
    inner: bytes = lz4.frame.decompress(packed)
    return inner


def split(data: bytes) -> Iterator[Old]:
    """The whole messages of a set as they stand; CRCs are checked."""
    at = 0
    while len(data) - at >= 12:
        offset, size = struct.unpack_from(">qi", data, at)
        if size > len(data) - at - 12:
            return
        crc, magic, attributes = struct.unpack_from(">Ibb", data, at + 12)
        assert crc == zlib.crc32(data[at + 16 : at + 12 + size])
        here, timestamp = at + 18, -1
        if magic:
            timestamp = struct.unpack_from(">q", data, here)[0]
            here += 8
        fields = []
        for _ in range(2):
            length = struct.unpack_from(">i", data, here)[0]
            here += 4
            fields.append(None if length < 0 else data[here : here + length])
            here += max(length, 0)
        yield Old(offset, magic, attributes, timestamp, *fields)
        at += 12 + size
        assert here == at


def flatten(data: bytes) -> list[Old]:
    """Every message at its absolute offset."""
    found = []
    for outer in split(data):
        codec = outer.attributes & 7
        if not codec:
            found.append(outer)
            continue
        assert outer.value is not None
        inner = list(split(unpack(outer.magic, outer.value, codec)))
        base = outer.offset - inner[-1].offset if outer.magic else 0
        found += [old._replace(offset=old.offset + base) for old in inner]
    return found
