"""The questions of ListOffsets, answered from a leader's log (Kafka's `fetchOffsetForTimestamp`).

What the log raises where it cannot be read passes through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.log.log import Log
    from kcompat.replication.leader import Leader

LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL_TIMESTAMP = -4
LATEST_TIERED_TIMESTAMP = -5
EARLIEST_PENDING_UPLOAD_TIMESTAMP = -6


class OffsetFound(Struct):
    """The answer to one question: -1 stands for "none"."""

    error: ErrorCode
    offset: int = -1
    timestamp: int = -1
    leader_epoch: int = -1


def offset_for(log: Log, leader: Leader, timestamp: int, limit: int) -> OffsetFound:
    """The offset for a time in ms, or for one of the special ones; `limit` is where the reader stops."""
    if timestamp == LATEST_TIMESTAMP:
        if not leader.knows_latest_offset:
            return OffsetFound(ErrorCode.OFFSET_NOT_AVAILABLE)
        return OffsetFound(ErrorCode.NONE, limit, -1, leader.epoch)
    if timestamp in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
        return OffsetFound(
            ErrorCode.NONE, log.log_start_offset, -1, log.epochs.epoch_for(log.log_start_offset)
        )
    if timestamp in (LATEST_TIERED_TIMESTAMP, EARLIEST_PENDING_UPLOAD_TIMESTAMP):
        return OffsetFound(ErrorCode.NONE)
    if timestamp < 0 and timestamp != MAX_TIMESTAMP:
        return OffsetFound(ErrorCode.UNSUPPORTED_VERSION)
    found = log.max_timestamp_offset() if timestamp == MAX_TIMESTAMP else log.offset_for_timestamp(timestamp)
    if found is None or found.offset >= limit:
        return OffsetFound(ErrorCode.NONE if leader.knows_latest_offset else ErrorCode.OFFSET_NOT_AVAILABLE)
    return OffsetFound(ErrorCode.NONE, found.offset, found.timestamp, found.leader_epoch)


def offsets_before(log: Log, high_watermark: int, timestamp: int, limit: int, now_ms: int) -> list[int]:
    """Version 0: where the segments begin whose newest record is not newer than `timestamp` (ms), at most
    `limit` offsets, newest first. The high watermark counts as one that was written at `now_ms`.

    A `timestamp` of -1 takes all of them, -2 the log start (Kafka's `legacyFetchOffsetsBefore`).
    """
    points = [(max(base, log.log_start_offset), modified_ms) for base, modified_ms in log.segment_starts()]
    if points[-1][0] < high_watermark:
        points.append((high_watermark, now_ms))
    if timestamp == EARLIEST_TIMESTAMP:
        chosen = points[:1]
    elif timestamp == LATEST_TIMESTAMP:
        chosen = points
    else:
        chosen = points[: sum(modified_ms <= timestamp for _, modified_ms in points)]
    offsets = sorted({offset for offset, _ in chosen if offset <= high_watermark}, reverse=True)
    return offsets[: max(limit, 0)]
