"""Kafka's default choice of a partition by the key of a record.

Pure functions. Kafka's counterparts: `Utils.murmur2` and `BuiltInPartitioner.partitionForKey`.
"""

from __future__ import annotations

from typing import Final

_SEED: Final = 0x9747B28C
_FACTOR: Final = 0x5BD1E995
_SHIFT: Final = 24
_MASK: Final = 0xFFFFFFFF


def partition_for_key(key: bytes, partitions: int) -> int:
    """Return the partition to which a Java producer writes a record of this key."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def murmur2(data: bytes) -> int:
    """Return the 32-bit hash of MurmurHash2 with Kafka's seed, as an unsigned number."""
    hashed = _SEED ^ len(data)
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * _FACTOR & _MASK
        word = (word ^ word >> _SHIFT) * _FACTOR & _MASK
        hashed = hashed * _FACTOR & _MASK ^ word
    if whole < len(data):
        hashed = (hashed ^ int.from_bytes(data[whole:], "little")) * _FACTOR & _MASK
    hashed = (hashed ^ hashed >> 13) * _FACTOR & _MASK
    return hashed ^ hashed >> 15
