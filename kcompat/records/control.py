"""Control records: the markers that end a transaction in a partition (KIP-98).

A control batch is transactional, holds one record, and is seen by no consumer. Key: int16 version, int16
type. Value of an end-of-transaction marker: int16 version, int32 coordinator epoch. Kafka's counterpart:
`ControlRecordType` and `EndTransactionMarker`.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import TYPE_CHECKING

import msgspec

from kcompat.records.batch import build_batch, read_records
from kcompat.records.errors import RecordsDamaged
from kcompat.records.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEY = struct.Struct(">hh")
_VALUE = struct.Struct(">hi")
_VERSION = 0


class ControlType(IntEnum):
    """The types of control record that end a transaction; a log may hold others, which only KRaft reads."""

    ABORT = 0
    COMMIT = 1


class EndTransactionMarker(msgspec.Struct, frozen=True):
    """The end of a transaction in one partition, and the epoch of the coordinator that wrote it."""

    type: ControlType
    coordinator_epoch: int


def build_marker(
    marker: EndTransactionMarker, *, producer_id: int, producer_epoch: int, timestamp: int, leader_epoch: int
) -> bytearray:
    """Build the control batch of one marker, at base offset 0, which the log replaces; `timestamp` in ms."""
    key = _KEY.pack(_VERSION, marker.type)
    value = _VALUE.pack(_VERSION, marker.coordinator_epoch)
    return build_batch(
        [Record(0, timestamp, key, value)],
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def read_marker(batch: memoryview) -> EndTransactionMarker | None:
    """Return the marker in a control batch; None for another type of control record or an emptied batch.

    Newer versions may add fields at the end, which are ignored. Raises `RecordsDamaged` if the record is too
    short.
    """
    records: Iterator[Record] = read_records(batch)
    record = next(records, None)
    if record is None:
        return None
    key, value = record.key or b"", record.value or b""
    if len(key) < _KEY.size:
        raise RecordsDamaged(f"a control record with a key of {len(key)} bytes")
    type_ = _KEY.unpack_from(key)[1]
    if type_ not in (ControlType.ABORT, ControlType.COMMIT):
        return None
    if len(value) < _VALUE.size:
        raise RecordsDamaged(f"an end-of-transaction marker with a value of {len(value)} bytes")
    return EndTransactionMarker(ControlType(type_), _VALUE.unpack_from(value)[1])
