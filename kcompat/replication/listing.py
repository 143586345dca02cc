"""ListOffsets, answered from the log of a partition (Kafka's `fetchOffsetForTimestamp`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.protocol.constants import NO_EPOCH
from kcompat.protocol.errors import ErrorCode
from kcompat.replication.errors import FAULTS, storage_error
from kcompat.replication.leading.leader import Leader
from kcompat.replication.reading import CONSUMER, READ_COMMITTED
from kcompat.replication.role import Follower

if TYPE_CHECKING:
    from kcompat.log.log import Log
    from kcompat.replication.partition import Partition
    from kcompat.replication.reading import PartitionReader

LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL_TIMESTAMP = -4
LATEST_TIERED_TIMESTAMP = -5
EARLIEST_PENDING_UPLOAD_TIMESTAMP = -6


class OffsetFound(Struct):
    """Offset and timestamp found for one partition; -1 means "none"."""

    error: ErrorCode
    offset: int = -1
    timestamp: int = -1
    leader_epoch: int = -1


def offset_for(
    partition: Partition, timestamp: int, reader: PartitionReader, leader_epoch: int
) -> OffsetFound:
    """Return the offset for a time in ms or a special value of ListOffsets.

    A follower may see the whole log, a consumer only the part below the high watermark or last stable offset.
    """
    state, log = partition.replica_for(leader_epoch, reader), partition.log
    if not isinstance(state, Leader) and not isinstance(state, Follower):
        return OffsetFound(state)
    limit, knows_latest = log.log_end_offset, True
    if reader.replica_id == CONSUMER:
        limit = state.high_watermark
        if reader.isolation_level == READ_COMMITTED:
            limit = partition.last_stable_offset
        knows_latest = isinstance(state, Follower) or state.knows_latest_offset
    try:
        return _find(log, state.epoch, timestamp, limit, knows_latest=knows_latest)
    except FAULTS as fault:
        return OffsetFound(storage_error(fault, log))


def offsets_before(
    partition: Partition, timestamp: int, limit: int, reader: PartitionReader, now_ms: int
) -> tuple[ErrorCode, list[int]]:
    """Return the base offsets of segments whose newest record is not newer than `timestamp` in ms
    (ListOffsets version 0).

    The result has at most `limit` offsets, newest first. The log end counts as a segment that was written at
    `now_ms`. A `timestamp` of -1 selects all offsets, -2 the log start. For a consumer the high watermark
    replaces greater offsets (Kafka's `legacyFetchOffsetsForTimestamp`).
    """
    state, log = partition.replica_for(NO_EPOCH, reader), partition.log
    if not isinstance(state, Leader) and not isinstance(state, Follower):
        return state, []
    try:
        found = _find_before(log, timestamp, limit, now_ms)
    except FAULTS as fault:
        return storage_error(fault, log), []
    high_watermark = state.high_watermark
    if reader.replica_id == CONSUMER and found and found[0] > high_watermark:
        found = [high_watermark, *(offset for offset in found if offset <= high_watermark)]
    return ErrorCode.NONE, found


def _find(log: Log, epoch: int, timestamp: int, limit: int, *, knows_latest: bool) -> OffsetFound:
    """Return the offset for a timestamp, below `limit`, the end of what the reader may read.

    If `knows_latest` is False, the leader was just elected and may not know the high watermark yet.
    """
    if timestamp == LATEST_TIMESTAMP:
        if not knows_latest:
            return OffsetFound(ErrorCode.OFFSET_NOT_AVAILABLE)
        return OffsetFound(ErrorCode.NONE, limit, -1, epoch)
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
        return OffsetFound(ErrorCode.NONE if knows_latest else ErrorCode.OFFSET_NOT_AVAILABLE)
    return OffsetFound(ErrorCode.NONE, found.offset, found.timestamp, found.leader_epoch)


def _find_before(log: Log, timestamp: int, limit: int, now_ms: int) -> list[int]:
    points = [(max(base, log.log_start_offset), modified_ms) for base, modified_ms in log.segment_starts()]
    if log.write_position:
        points.append((log.log_end_offset, now_ms))
    count = len(points)
    if timestamp == EARLIEST_TIMESTAMP:
        count = 1
    elif timestamp != LATEST_TIMESTAMP:
        newest = (number for number in range(count, 0, -1) if points[number - 1][1] <= timestamp)
        count = next(newest, 0)
    return sorted((offset for offset, _ in points[max(count - limit, 0) : count]), reverse=True)
