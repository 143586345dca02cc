"""The partition of a coordinator's topic in which a group or a transactional id is kept."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Final

REMEMBERED = 256
"""Hashes of the keys asked for last: members ask with every heartbeat, and a key may be 32 KiB long."""


@lru_cache(REMEMBERED)
def java_string_hash(text: str) -> int:
    """Java's `String.hashCode`: over UTF-16 code units, wrapping at 32 bits, signed."""
    encoded = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for unit in struct.unpack(f">{len(encoded) // 2}H", encoded):
        value = (value * 31 + unit) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


NOWHERE: Final = -1
"""The partition of a key while nobody knows how many partitions there are: no coordinator has it."""


def partition_for(key: str, partitions: int) -> int:
    """Kafka's `Utils.abs(key.hashCode) % partitions`, where the absolute value of -2^31 is 0; NOWHERE where
    there are 0 partitions.
    """
    if not partitions:
        return NOWHERE
    value = java_string_hash(key)
    return 0 if value == -(1 << 31) else abs(value) % partitions
