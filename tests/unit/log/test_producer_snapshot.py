"""Snapshots of producers: the bytes that Kafka writes, and damage."""

from __future__ import annotations

import pytest

from kcompat.log.checkpoints import CheckpointDamaged
from kcompat.log.producer_snapshot import decode_snapshot, encode_snapshot
from kcompat.log.producers import BatchMetadata, ProducerEntry


def test_producer_snapshot() -> None:
    entries = [
        ProducerEntry(7, 2, 1000, 3, -1, [BatchMetadata(9, 50, 4, 1000)]),
        ProducerEntry(8, 0, 2000, 5, 60, []),
    ]
    data = encode_snapshot(entries)
    assert data[:2] == b"\0\1"
    assert data[6:10] == b"\0\0\0\2"
    assert data[10:] == bytes.fromhex(
        "0000000000000007 0002 00000009 0000000000000032 00000004 00000000000003e8 00000003 ffffffffffffffff"
        "0000000000000008 0000 ffffffff ffffffffffffffff 00000000 00000000000007d0 00000005 000000000000003c"
    )
    assert decode_snapshot(data) == entries


def test_a_damaged_producer_snapshot_is_noticed_at_every_byte() -> None:
    data = encode_snapshot([ProducerEntry(7, 2, 1000, 3, -1, [BatchMetadata(9, 50, 4, 1000)])])
    damaged = [data[:at] for at in range(len(data))]
    damaged += [data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in range(len(data))]
    for content in (*damaged, data + b"\0"):
        with pytest.raises(CheckpointDamaged):
            decode_snapshot(content)
