"""Producer snapshots: `<offset>.snapshot` holds the state of all producers for records below `<offset>`.

Big-endian: int16 version 1, uint32 CRC-32C of all bytes after it, int32 count, then per producer: int64 id,
int16 epoch, int32 last sequence, int64 last offset, int32 offset delta, int64 timestamp, int32 coordinator
epoch, int64 first offset of the open transaction. A value of -1 means none. A snapshot keeps only the newest
batch of each producer.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from kcompat.log.checkpoints import CheckpointDamaged
from kcompat.log.producers import BatchMetadata, ProducerEntry
from kcompat.records.checksum import crc32c

if TYPE_CHECKING:
    from collections.abc import Iterable

_HEAD: Final = struct.Struct(">hIi")
_ENTRY: Final = struct.Struct(">qhiqiqiq")
_VERSION: Final = 1
_CRC_END: Final = 6


def encode_snapshot(entries: Iterable[ProducerEntry]) -> bytes:
    """Encode the content of a snapshot file."""
    rows = []
    for entry in entries:
        delta = entry.batches[-1].offset_delta if entry.batches else 0
        rows.append(
            _ENTRY.pack(
                entry.producer_id, entry.epoch, entry.last_sequence, entry.last_offset, delta,
                entry.last_timestamp, entry.coordinator_epoch, entry.current_txn_start_offset,
            )
        )  # fmt: skip
    body = struct.pack(">i", len(rows)) + b"".join(rows)
    return struct.pack(">hI", _VERSION, crc32c(body)) + body


def decode_snapshot(data: bytes) -> list[ProducerEntry]:
    """Return the producers in a snapshot file. Raises CheckpointDamaged, also for an unknown version."""
    if len(data) < _HEAD.size:
        raise CheckpointDamaged(f"{len(data)} bytes are too few")
    version, crc, count = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise CheckpointDamaged(f"unknown version {version}")
    if crc != crc32c(memoryview(data)[_CRC_END:]):
        raise CheckpointDamaged("the CRC is wrong")
    if len(data) != _HEAD.size + count * _ENTRY.size:
        raise CheckpointDamaged(f"{len(data)} bytes cannot hold {count} producers")
    entries = []
    for fields in _ENTRY.iter_unpack(memoryview(data)[_HEAD.size :]):
        producer_id, epoch, sequence, offset, delta, timestamp, coordinator_epoch, start = fields
        batches = [BatchMetadata(sequence, offset, delta, timestamp)] if offset >= 0 else []
        entries.append(ProducerEntry(producer_id, epoch, timestamp, coordinator_epoch, start, batches))
    return entries
