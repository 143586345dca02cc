"""Finding offsets by time: time index first, then batches, then the records of one batch
(LogSegment.findOffsetByTimestamp).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kcompat.log.segment import NO_TIMESTAMP
from kcompat.records.batch import read_records

if TYPE_CHECKING:
    from kcompat.log.segment import Segment
    from kcompat.log.segments import Segments
    from kcompat.records.batch import BatchHeader


class TimestampOffset(msgspec.Struct, frozen=True):
    """A record found by time: offset, timestamp in ms, and the leader epoch in which it was written."""

    offset: int
    timestamp: int
    leader_epoch: int


def find(segments: Segments, timestamp: int, log_start_offset: int) -> TimestampOffset | None:
    """Return the first record at or above the log start whose timestamp is >= `timestamp`."""
    for segment in segments:
        if segment.max_timestamp < timestamp:
            continue
        found = _find_in(segment, timestamp, log_start_offset)
        if found is not None:
            return found
    return None


def find_max(segments: Segments) -> TimestampOffset | None:
    """Return the first record that has the largest timestamp; None in a log without timestamps."""
    newest = max(segments, key=lambda segment: segment.max_timestamp)
    if newest.max_timestamp == NO_TIMESTAMP:
        return None
    return _find_in(newest, newest.max_timestamp, newest.base_offset)


def _find_in(segment: Segment, timestamp: int, from_offset: int) -> TimestampOffset | None:
    """Return the segment's first record at or above `from_offset` whose timestamp is >= `timestamp`.

    Every record newer than an entry of the time index lies after its offset, so the search begins there.
    """
    begin = segment.time_index.offset_for(timestamp - 1)
    for position, header in segment.headers(max(begin, from_offset)):
        if header.max_timestamp >= timestamp:
            found = _find_record(segment, position, header, timestamp, from_offset)
            if found is not None:
                return found
    return None


def _find_record(
    segment: Segment, position: int, header: BatchHeader, timestamp: int, from_offset: int
) -> TimestampOffset | None:
    batch = memoryview(segment.read_at(position, header.size))
    for record in read_records(batch):
        if record.timestamp >= timestamp and record.offset >= from_offset:
            return TimestampOffset(record.offset, record.timestamp, header.leader_epoch)
    return None
