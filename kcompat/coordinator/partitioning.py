"""The partition of a coordinator's topic that keeps a group or a transactional id."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Final

REMEMBERED = 256
"""Number of keys whose hash is cached: members send their key with every heartbeat, and a key may be 32 KiB
long.
"""


@lru_cache(REMEMBERED)
def java_string_hash(text: str) -> int:
    """Return Java's `String.hashCode` of a text, a signed 32-bit integer."""
    encoded = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for unit in struct.unpack(f">{len(encoded) // 2}H", encoded):
        value = (value * 31 + unit) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


NOWHERE: Final = -1
"""Partition of every key while the number of partitions is unknown; it has no coordinator."""


def partition_for(key: str, partitions: int) -> int:
    """Return Kafka's `Utils.abs(key.hashCode) % partitions`, or NOWHERE if there are 0 partitions.

    Kafka's `abs` of -2^31 is 0.
    """
    if not partitions:
        return NOWHERE
    value = java_string_hash(key)
    return 0 if value == -(1 << 31) else abs(value) % partitions
