"""Which segments of a log are past their time (kafka's deleteOldSegments)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcompat.log.log import Log
    from kcompat.log.segment import Segment


def count_deletable(log: Log, segments: list[Segment], now_ms: int, high_watermark: int) -> int:
    """How many of the oldest segments go: below the log start, over `retention.bytes`, or older than
    `retention.ms`.

    Nothing at or above the high watermark goes; an empty active segment stays.
    """
    config = log.config
    excess = log.size - config.retention_bytes if config.deletes and config.retention_bytes >= 0 else 0
    count = 0
    for number, segment in enumerate(segments):
        is_last = number == len(segments) - 1
        next_base = log.log_end_offset if is_last else segments[number + 1].base_offset
        if next_base > high_watermark or (is_last and segment.size == 0):
            break
        below_start = not is_last and next_base <= log.log_start_offset
        excess -= segment.size
        over_size = excess >= 0 and config.deletes and config.retention_bytes >= 0
        if not (
            below_start or over_size or (config.deletes and _is_expired(segment, config.retention_ms, now_ms))
        ):
            break
        count += 1
    return count


def _is_expired(segment: Segment, retention_ms: int, now_ms: int) -> bool:
    return retention_ms >= 0 and now_ms - segment.largest_timestamp() > retention_ms
