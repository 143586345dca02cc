"""Positions of fields in batches and messages, and names of their flags, in one place.

Kafka's `DefaultRecordBatch` (KIP-98) and `LegacyRecord` (KIP-32) have the same. Positions and sizes are in
bytes.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

# -- common to batches and messages --------------------------------------------------------------------------

MAGIC: Final = 2
"""Magic of a record batch; messages have 0 or 1."""
LOG_OVERHEAD: Final = 12
"""Size of the offset and length at the start of every batch or message; the length does not include it."""
LENGTH_AT: Final = 8
MAGIC_AT: Final = 16

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME_FLAG: Final = 0x08
TRANSACTIONAL_FLAG: Final = 0x10
CONTROL_FLAG: Final = 0x20
DELETE_HORIZON_FLAG: Final = 0x40

NO_TIMESTAMP: Final = -1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_LEADER_EPOCH: Final = -1

# -- batches of magic 2 --------------------------------------------------------------------------------------

_HEADER_CODES: Final = {
    "base_offset": "q",
    "batch_length": "i",
    "leader_epoch": "i",
    "magic": "b",
    "crc": "I",
    "attributes": "h",
    "last_offset_delta": "i",
    "base_timestamp": "q",
    "max_timestamp": "q",
    "producer_id": "q",
    "producer_epoch": "h",
    "base_sequence": "i",
    "record_count": "i",
}
"""The fields of a batch header in order, with their `struct` codes, big-endian.

`batch_length` and `crc` (CRC-32C) cover the bytes after them.
"""

HEADER: Final = struct.Struct(">" + "".join(_HEADER_CODES.values()))
HEADER_SIZE: Final = HEADER.size
SMALLEST_RECORD: Final = 7
"""Size in bytes of a record without key, value and headers."""


class Place(NamedTuple):
    """Position, size and sign of a header field."""

    at: int
    size: int
    is_signed: bool


def _places() -> dict[str, Place]:
    places, at = {}, 0
    for name, code in _HEADER_CODES.items():
        size = struct.calcsize(">" + code)
        places[name] = Place(at, size, code.islower())
        at += size
    return places


HEADER_PLACES: Final = _places()

# -- messages of magic 0 and 1 -------------------------------------------------------------------------------

MESSAGE_CRC_AT: Final = 12
"""Position of the CRC, which covers everything after it, from the magic on."""
MESSAGE_ATTRIBUTES_AT: Final = 17
SMALLEST_MESSAGE: Final = 14
"""Length of a message of magic 0 without key and value."""
