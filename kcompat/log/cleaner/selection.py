"""The choice of the log to clean and of its offsets (Kafka's LogCleanerManager)."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from kcompat.log.config import MAX_LONG

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.log.cleaner.job import CleanJob, SegmentPart
    from kcompat.log.config import LogConfig
    from kcompat.log.segment import Segment

_MAX_SPAN = 2**31 - 1
"""Number of offsets that one segment may span: its indexes hold offsets relative to the base offset as int32.
"""


class Cleanable(msgspec.Struct, frozen=True):
    """The part of one log that can be cleaned; `upper_offset` is the base offset of a segment.

    `is_forced` is true when a record in it has waited longer than `max.compaction.lag.ms`.
    """

    first_dirty_offset: int
    upper_offset: int
    clean_bytes: int
    dirty_bytes: int
    is_forced: bool

    @property
    def ratio(self) -> float:
        """Share of dirty bytes."""
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0

    def is_due(self, min_ratio: float) -> bool:
        """Return whether the dirty ratio reaches `min.cleanable.dirty.ratio`, or the cleaning is forced."""
        return self.ratio > min_ratio or (self.is_forced and self.dirty_bytes > 0)


def first_dirty(checkpoint: int | None, log_start_offset: int, log_end_offset: int) -> int:
    """Return the offset where cleaning begins: the checkpoint, or the log start where the checkpoint lies
    outside the log.
    """
    if checkpoint is None or not log_start_offset <= checkpoint <= log_end_offset:
        return log_start_offset
    return checkpoint


def assess(
    segments: Sequence[Segment], config: LogConfig, first_dirty_offset: int, stable_offset: int, now_ms: int
) -> Cleanable:
    """Return the part of a log that can be cleaned now.

    The part ends at the last stable offset, the active segment, or the first segment that is younger than
    `min.compaction.lag.ms`. OSError passes through.
    """
    bases = [segment.base_offset for segment in segments]
    limit = min(stable_offset, bases[-1])
    dirty = segments[max(bisect_right(bases, first_dirty_offset) - 1, 0) : -1]
    if config.min_compaction_lag_ms > 0:
        newest_ms = now_ms - config.min_compaction_lag_ms
        young = (segment.base_offset for segment in dirty if segment.largest_timestamp() > newest_ms)
        limit = min(limit, next(young, limit))
    upper = max(bisect_right(bases, max(limit, first_dirty_offset)) - 1, 0)
    return Cleanable(
        first_dirty_offset,
        bases[upper],
        clean_bytes=sum(segment.size for segment in segments if segment.base_offset < first_dirty_offset),
        dirty_bytes=sum(segment.size for segment in dirty if segment.base_offset < bases[upper]),
        is_forced=_is_overdue(dirty, config.max_compaction_lag_ms, now_ms),
    )


def _is_overdue(dirty: Sequence[Segment], max_lag_ms: int, now_ms: int) -> bool:
    """Return whether a dirty segment began more than `max_lag_ms` ago."""
    if max_lag_ms == MAX_LONG:
        return False
    times = (segment.first_batch_ms() for segment in dirty)
    return any(0 < time_ms < now_ms - max_lag_ms for time_ms in times)


def group(parts: tuple[SegmentPart, ...], job: CleanJob) -> list[list[SegmentPart]]:
    """Group adjacent segments that are merged into one by cleaning (Kafka's `Cleaner.groupSegmentsBySize`).

    The log and the indexes of a group fit into one segment, and its offsets lie within an int32 of the first.
    A cleaned segment is never larger than the segments it replaces.
    """
    if not parts:
        return []
    upper_offset = job.rules.upper_offset
    ends = [after.base_offset for _, after in pairwise(parts)] + [upper_offset]
    groups = [[parts[0]]]
    for part, end in zip(parts[1:], ends[1:], strict=True):
        current = groups[-1]
        fits = (
            sum(other.size for other in current) + part.size <= job.segment_bytes
            and sum(other.index_bytes for other in current) + part.index_bytes <= job.segment_index_bytes
            and sum(other.time_index_bytes for other in current) + part.time_index_bytes
            <= job.segment_index_bytes
            and (part.size == 0 or end - 1 - current[0].base_offset <= _MAX_SPAN)
        )
        if fits:
            current.append(part)
        else:
            groups.append([part])
    return groups
