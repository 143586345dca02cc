"""XXH3 with 64 bits and seed 0, over bytes: the hash of topic metadata in Kafka's groups.

A hash is computed only when a group's topics change, over a few bytes for each partition, so a pure-Python
implementation is fast enough. The constants and the order of steps are those of the XXH3 specification.
"""

from __future__ import annotations

import struct

_P32 = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
_P64 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
_MIX_1 = 0x165667919E3779F9
_MIX_2 = 0x9FB21C651E98DF25
_M32 = 2**32 - 1
_M64 = 2**64 - 1
_STRIPE = 64
_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_LONG_STRIPES = (len(_SECRET) - _STRIPE) // 8
_MIN_LONG = 241


def _word(data: bytes, at: int) -> int:
    value: int = struct.unpack_from("<Q", data, at)[0]
    return value


def _half(data: bytes, at: int) -> int:
    value: int = struct.unpack_from("<I", data, at)[0]
    return value


def _folded(left: int, right: int) -> int:
    product = left * right
    return (product & _M64) ^ (product >> 64)


def _avalanche(value: int) -> int:
    value ^= value >> 37
    value = value * _MIX_1 & _M64
    return value ^ value >> 32


def _avalanche_64(value: int) -> int:
    value ^= value >> 33
    value = value * _P64[1] & _M64
    value ^= value >> 29
    value = value * _P64[2] & _M64
    return value ^ value >> 32


def _mixed(data: bytes, at: int, secret_at: int) -> int:
    return _folded(
        _word(data, at) ^ _word(_SECRET, secret_at), _word(data, at + 8) ^ _word(_SECRET, secret_at + 8)
    )


def _up_to_16(data: bytes) -> int:
    size = len(data)
    if size > 8:
        low = _word(data, 0) ^ _word(_SECRET, 24) ^ _word(_SECRET, 32)
        high = _word(data, size - 8) ^ _word(_SECRET, 40) ^ _word(_SECRET, 48)
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return _avalanche((size + swapped + high + _folded(low, high)) & _M64)
    if size > 3:
        keyed = (_half(data, size - 4) + (_half(data, 0) << 32)) ^ _word(_SECRET, 8) ^ _word(_SECRET, 16)
        keyed ^= (keyed << 49 | keyed >> 15) & _M64 ^ (keyed << 24 | keyed >> 40) & _M64
        keyed = keyed * _MIX_2 & _M64
        keyed ^= (keyed >> 35) + size
        keyed = keyed * _MIX_2 & _M64
        return keyed ^ keyed >> 28
    if size:
        combined = data[0] << 16 | data[size >> 1] << 24 | data[size - 1] | size << 8
        return _avalanche_64(combined ^ _half(_SECRET, 0) ^ _half(_SECRET, 4))
    return _avalanche_64(_word(_SECRET, 56) ^ _word(_SECRET, 64))


def _up_to_240(data: bytes) -> int:
    size = len(data)
    value = size * _P64[0]
    if size <= 128:
        for index in range((size - 1) // 32, -1, -1):
            value += _mixed(data, 16 * index, 32 * index)
            value += _mixed(data, size - 16 * (index + 1), 32 * index + 16)
        return _avalanche(value & _M64)
    for index in range(8):
        value += _mixed(data, 16 * index, 16 * index)
    value = _avalanche(value & _M64)
    for index in range(8, size // 16):
        value += _mixed(data, 16 * index, 16 * (index - 8) + 3)
    value += _mixed(data, size - 16, 136 - 17)
    return _avalanche(value & _M64)


def _accumulate(lanes: list[int], data: bytes, at: int, secret_at: int) -> None:
    words = struct.unpack_from("<8Q", data, at)
    keys = struct.unpack_from("<8Q", _SECRET, secret_at)
    for lane, word in enumerate(words):
        keyed = word ^ keys[lane]
        lanes[lane ^ 1] = lanes[lane ^ 1] + word & _M64
        lanes[lane] = lanes[lane] + (keyed & _M32) * (keyed >> 32) & _M64


def _long(data: bytes) -> int:
    size = len(data)
    lanes = [_P32[2], _P64[0], _P64[1], _P64[2], _P64[3], _P32[1], _P64[4], _P32[0]]
    stripes = (size - 1) // _STRIPE
    scramble = struct.unpack_from("<8Q", _SECRET, len(_SECRET) - _STRIPE)
    for stripe in range(stripes):
        _accumulate(lanes, data, stripe * _STRIPE, stripe % _LONG_STRIPES * 8)
        if stripe % _LONG_STRIPES == _LONG_STRIPES - 1:
            for lane, key in enumerate(scramble):
                value = lanes[lane]
                lanes[lane] = ((value ^ value >> 47) ^ key) * _P32[0] & _M64
    _accumulate(lanes, data, size - _STRIPE, len(_SECRET) - _STRIPE - 7)
    keys = struct.unpack_from("<8Q", _SECRET, 11)
    value = size * _P64[0]
    for pair in range(0, 8, 2):
        value += _folded(lanes[pair] ^ keys[pair], lanes[pair + 1] ^ keys[pair + 1])
    return _avalanche(value & _M64)


def xxh3_64(data: bytes) -> int:
    """Return the hash as a signed 64-bit number, as Java represents it."""
    size = len(data)
    if size <= 16:
        value = _up_to_16(data)
    elif size < _MIN_LONG:
        value = _up_to_240(data)
    else:
        value = _long(data)
    return value - 2**64 if value >= 2**63 else value
