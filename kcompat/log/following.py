"""Appending batches from a leader unchanged: checked batch by batch, written with one call per segment.

Only headers and CRCs of the batches are read (and transaction markers); batches may be of any format. Kafka's
`UnifiedLog.appendAsFollower` and `analyzeAndValidateRecords`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.log.scan import FoundBatch, describe, is_intact
from kcompat.log.segment import MAX_RELATIVE_OFFSET
from kcompat.protocol.errors import ErrorCode
from kcompat.records.layout import LOG_OVERHEAD, MAGIC, SMALLEST_MESSAGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.log.log import Log
    from kcompat.log.segment import Segment

_UP_TO_MAGIC: Final = 17


def check(data: memoryview, log_end_offset: int, leader_epoch: int) -> Sequence[FoundBatch] | ErrorCode:
    """Return the whole batches in `data`, or the error code of the first wrong one.

    A last batch that is cut short is ignored, and so is everything from the first batch with an epoch above
    `leader_epoch` on: a leader may be truncated, and written to by another leader, while its response is on
    the way (KAFKA-18723). The error is CORRUPT_MESSAGE if a size, magic or CRC is wrong or a marker cannot be
    read, OFFSET_OUT_OF_RANGE if offsets decrease.
    """
    found: list[FoundBatch] = []
    position, left, expected = 0, len(data), log_end_offset
    while left >= _UP_TO_MAGIC:
        length = int.from_bytes(data[position + 8 : position + LOG_OVERHEAD], "big", signed=True)
        size = length + LOG_OVERHEAD
        if length < SMALLEST_MESSAGE or data[position + _UP_TO_MAGIC - 1] > MAGIC:
            return ErrorCode.CORRUPT_MESSAGE
        if left < size:
            break
        batch = data[position : position + size]
        described = describe(position, batch) if is_intact(batch) else None
        if described is None:
            return ErrorCode.CORRUPT_MESSAGE
        if described.epoch > leader_epoch:
            break
        if not expected <= described.base_offset <= described.last_offset:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        found.append(described)
        expected = described.last_offset + 1
        position += size
        left -= size
    return found


def first_offsets(data: memoryview) -> tuple[int, int]:
    """Return the first and last offset of the first batch in `data`, which is whole and sound.

    For an old format only the last offset is known, and is returned twice.
    """
    size = int.from_bytes(data[8:LOG_OVERHEAD], "big", signed=True) + LOG_OVERHEAD
    described = describe(0, data[:size])
    assert described is not None, "it is sound"
    return described.base_offset, described.last_offset


def append(log: Log, data: memoryview, found: Sequence[FoundBatch], now_ms: int) -> None:
    """Write the batches that `check` found in `data`.

    OSError passes through; batches written before the fault stay in the log.
    """
    begin = 0
    while begin < len(found):
        begin += _append_some(log, data, found[begin:], now_ms)


def _append_some(log: Log, data: memoryview, found: Sequence[FoundBatch], now_ms: int) -> int:
    """Write the first of these batches and those that fit into the same segment; return their number."""
    first = found[0]
    segment = log.local.segments.active
    if segment.must_roll(first.size, first.last_offset, first.timestamp, now_ms):
        segment = log.begin_segment(_base_offset_of(first, log.log_end_offset), now_ms)
    found = found[: _count_fitting(segment, found, now_ms)]
    _note_epochs(log, found)
    end = found[-1].position + found[-1].size
    position = segment.write(data[first.position : end], end - first.position)
    for batch in found:
        segment.note(position, batch.size, batch.last_offset, batch.timestamp)
        position += batch.size
        log.log_end_offset = batch.last_offset + 1
        if batch.header is not None and batch.header.producer_id >= 0:
            log.note_producer(batch.header, batch.marker, batch.base_offset, batch.header.max_timestamp)
    return len(found)


def _count_fitting(segment: Segment, found: Sequence[FoundBatch], now_ms: int) -> int:
    """Return how many of these batches belong in the segment of the first: as many as appends
    one by one would bring there, or fewer where an index is nearly full.
    """
    first = segment.first_batch_ms() if segment.size else found[0].timestamp
    limit = min(segment.offset_index.room, segment.time_index.room)
    size = segment.size + found[0].size
    count = 1
    for batch in found[1:]:
        size += batch.size
        waited = batch.timestamp - first if first >= 0 else now_ms - segment.created_ms
        if (
            count >= limit
            or size > segment.config.segment_bytes
            or waited > segment.wait_limit_ms
            or batch.last_offset - segment.base_offset > MAX_RELATIVE_OFFSET
        ):
            break
        count += 1
    return count


def _base_offset_of(batch: FoundBatch, log_end_offset: int) -> int:
    """Return the base offset of a segment that begins with this batch.

    For a batch of an old format, of which only the last offset is known, it is the lowest possible offset.
    """
    if batch.header is not None:
        return batch.base_offset
    return max(log_end_offset, batch.last_offset - MAX_RELATIVE_OFFSET)


def _note_epochs(log: Log, found: Sequence[FoundBatch]) -> None:
    """Store the epochs of the batches that are about to be written.

    Old formats have none. As in Kafka, all epochs are forgotten then: with a gap in them they could name a
    wrong point where two logs part.
    """
    epochs = log.epochs
    for batch in found:
        if batch.header is not None:
            if batch.epoch != epochs.current:
                epochs.assign(batch.epoch, batch.base_offset)
        elif epochs.cache.entries:
            epochs.clear()
    epochs.save()
