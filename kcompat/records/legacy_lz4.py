"""LZ4 frames of message format v0, whose header checksum covers four bytes too many (KAFKA-3160).

The first Kafka clients with LZ4 hashed the magic number of the frame along with its descriptor. Readers of
format v0 accept either checksum; writers must produce the wrong one, which the oldest clients check.
"""

from __future__ import annotations

import struct

from kcompat.records.errors import RecordsDamaged

_MAGIC_SIZE = 4
_FLAGS_AT = 4
_CONTENT_SIZE_FLAG = 0x08
_DICTIONARY_FLAG = 0x01

_PRIME_1 = 0x9E3779B1
_PRIME_2 = 0x85EBCA77
_PRIME_3 = 0xC2B2AE3D
_PRIME_4 = 0x27D4EB2F
_PRIME_5 = 0x165667B1
_WORD = 0xFFFFFFFF


def with_right_checksum(frame: bytes | memoryview) -> bytes:
    """Return the frame with the header checksum of LZ4's specification.

    Raises `RecordsDamaged` for bytes without a header.
    """
    at = _checksum_position(frame)
    return _with_checksum(frame, at, _checksum(bytes(frame[_MAGIC_SIZE:at])))


def with_old_checksum(frame: bytes | memoryview) -> bytes:
    """Return the frame with the header checksum of message format v0."""
    at = _checksum_position(frame)
    return _with_checksum(frame, at, _checksum(bytes(frame[:at])))


def _with_checksum(frame: bytes | memoryview, at: int, checksum: bytes) -> bytes:
    view = memoryview(frame)
    return b"".join((view[:at], checksum, view[at + 1 :]))


def _checksum_position(frame: bytes | memoryview) -> int:
    """Return the position of the checksum, behind the magic number, flags and optional fields."""
    if len(frame) > _FLAGS_AT:
        flags = frame[_FLAGS_AT]
        at = _FLAGS_AT + 2 + (8 if flags & _CONTENT_SIZE_FLAG else 0) + (4 if flags & _DICTIONARY_FLAG else 0)
        if at < len(frame):
            return at
    raise RecordsDamaged("an LZ4 frame without a whole header")


def _checksum(data: bytes) -> bytes:
    return bytes([_xxh32(data) >> 8 & 0xFF])


def _xxh32(data: bytes) -> int:
    """Return the 32-bit xxHash of at most 31 bytes, with seed 0."""
    value = (_PRIME_5 + len(data)) & _WORD
    position = 0
    if len(data) >= 16:
        value = (_long_part(data[:16]) + len(data)) & _WORD
        position = 16
    while position + 4 <= len(data):
        word = struct.unpack_from("<I", data, position)[0]
        value = _rotate(value + word * _PRIME_3, 17) * _PRIME_4 & _WORD
        position += 4
    for byte in data[position:]:
        value = _rotate(value + byte * _PRIME_5, 11) * _PRIME_1 & _WORD
    value = (value ^ value >> 15) * _PRIME_2 & _WORD
    value = (value ^ value >> 13) * _PRIME_3 & _WORD
    return value ^ value >> 16


def _long_part(stripe: bytes) -> int:
    seeds = (_PRIME_1 + _PRIME_2, _PRIME_2, 0, -_PRIME_1)
    lanes = [
        _rotate(seed + word * _PRIME_2, 13) * _PRIME_1 & _WORD
        for seed, word in zip(seeds, struct.unpack("<4I", stripe), strict=True)
    ]
    return sum(_rotate(lane, shift) for lane, shift in zip(lanes, (1, 7, 12, 18), strict=True))


def _rotate(value: int, bits: int) -> int:
    value &= _WORD
    return (value << bits | value >> (32 - bits)) & _WORD
