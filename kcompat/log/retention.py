"""The segments of a log to delete by retention (UnifiedLog.deleteOldSegments)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcompat.log.config import LogConfig
    from kcompat.log.segment import Segment
    from kcompat.log.segments import Segments


def count_deletable(
    segments: Segments,
    config: LogConfig,
    *,
    now_ms: int,
    log_start_offset: int,
    log_end_offset: int,
    high_watermark: int,
) -> int:
    """Return how many of the oldest segments to delete: those below the log start, over `retention.bytes`, or
    older than `retention.ms`.

    Nothing at or above the high watermark is deleted; an empty active segment is kept.
    """
    limits_size = config.deletes and config.retention_bytes >= 0
    excess = segments.size - config.retention_bytes if limits_size else 0
    ends = [*segments.base_offsets[1:], log_end_offset]
    count = 0
    for segment, end in zip(segments, ends, strict=True):
        is_last = segment is segments.active
        if end > high_watermark or (is_last and segment.size == 0):
            break
        below_start = not is_last and end <= log_start_offset
        excess -= segment.size
        over_size = limits_size and excess >= 0
        if not (
            below_start or over_size or (config.deletes and _is_expired(segment, config.retention_ms, now_ms))
        ):
            break
        count += 1
    return count


def _is_expired(segment: Segment, retention_ms: int, now_ms: int) -> bool:
    return retention_ms >= 0 and now_ms - segment.largest_timestamp() > retention_ms
