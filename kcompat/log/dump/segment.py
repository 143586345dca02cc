"""The dump of a segment file: its batches, on demand its records, and the faults of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from kcompat.log.dump.batches import DumpedBatch, Order, crc_is_right, read_batches
from kcompat.log.dump.rows import Row, damage, plain
from kcompat.log.files import pread_all
from kcompat.records.batch import read_records
from kcompat.records.compression import Codec
from kcompat.records.control import read_marker
from kcompat.records.errors import RecordsDamaged
from kcompat.records.layout import CODEC_MASK, LOG_APPEND_TIME_FLAG
from kcompat.records.message_set import read_messages
from kcompat.records.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.log.dump.internal import Decode
    from kcompat.log.files import OpenFile
    from kcompat.records.batch import BatchHeader


class Depth(msgspec.Struct, frozen=True):
    """Depth of a dump: headers alone, every record (`deep`), or every possible check."""

    deep: bool = False
    verify: bool = False


def dump_segment(
    file: OpenFile, end: int, base_offset: int, order: Order, decode: Decode, depth: Depth
) -> Iterator[Row]:
    """Yield the rows of a segment file of `end` bytes. At most one sound batch is in memory."""
    misplaced = order.begin_segment(base_offset)
    if misplaced is not None:
        yield damage(0, misplaced)
    for found in read_batches(file, end):
        if not isinstance(found, DumpedBatch):
            yield damage(found.position, found.message)
            return
        is_right = not (depth.deep or depth.verify) or crc_is_right(file, found)
        fields = _fields(found)
        if depth.deep or depth.verify:
            fields["isvalid"] = is_right
        yield Row("batch", found.position, fields)
        for message in order.follow(found):
            yield damage(found.position, message)
        if not is_right:
            yield damage(found.position, f"the CRC of the batch at offset {found.base_offset} is wrong")
        elif depth.deep or depth.verify:
            yield from _records(file, found, decode, depth)


def _fields(batch: DumpedBatch) -> dict[str, Any]:
    """Return the fields of a batch that DumpLogSegments shows, under the names that it uses."""
    header = batch.header
    codec = batch.attributes & CODEC_MASK
    common = {
        "timestampType": "LogAppendTime" if batch.attributes & LOG_APPEND_TIME_FLAG else "CreateTime",
        "maxTimestamp": batch.max_timestamp,
        "size": batch.size,
        "magic": batch.magic,
        "compresscodec": Codec(codec).name.lower() if codec in set(Codec) else str(codec),
        "crc": batch.crc,
    }
    if header is None:
        return {"offset": batch.base_offset, **common}
    own: dict[str, Any] = {
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "count": header.record_count,
        "baseSequence": header.base_sequence,
        "lastSequence": header.last_sequence,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "partitionLeaderEpoch": header.leader_epoch,
        "isTransactional": header.is_transactional,
        "isControl": header.is_control,
    }
    if header.has_delete_horizon:
        own["deleteHorizonMs"] = header.base_timestamp
    return {**own, **common}


def _records(file: OpenFile, batch: DumpedBatch, decode: Decode, depth: Depth) -> Iterator[Row]:
    """Yield the records of a batch whose CRC is right, and their faults."""
    data = memoryview(pread_all(file, batch.size, batch.position))
    header = batch.header
    next_offset = 0 if header is None else header.base_offset
    try:
        marker = read_marker(data) if header is not None and header.is_control else None
        for record in _unpacked(data, header):
            if not next_offset <= record.offset <= batch.last_offset:
                yield damage(batch.position, f"a record at offset {record.offset} in the batch")
            next_offset = record.offset + 1
            if depth.deep:
                fields = _record_fields(record, header)
                if marker is not None:
                    fields["endTxnMarker"] = marker.type.name
                    fields["coordinatorEpoch"] = marker.coordinator_epoch
                elif header is not None and header.is_control:
                    fields["key"], fields["value"] = plain(record.key), plain(record.value)
                else:
                    fields["key"], fields["value"] = decode(record)
                yield Row("record", batch.position, fields)
    except RecordsDamaged as error:
        yield damage(batch.position, f"the records of the batch cannot be read: {error}")


def _unpacked(data: memoryview, header: BatchHeader | None) -> Iterator[Record]:
    """Yield the records of a batch, or those in a message of an old format, which may be a wrapper."""
    if header is not None:
        yield from read_records(data)
        return
    for message in read_messages(bytes(data)):
        yield Record(message.offset, message.timestamp, message.key, message.value)


def _record_fields(record: Record, header: BatchHeader | None) -> dict[str, Any]:
    fields: dict[str, Any] = {"offset": record.offset, "timestamp": record.timestamp}
    if header is not None and header.base_sequence >= 0:
        fields["sequence"] = (header.base_sequence + record.offset - header.base_offset) & 0x7FFFFFFF
    if record.headers:
        fields["headers"] = [[name, plain(value)] for name, value in record.headers]
    return fields
