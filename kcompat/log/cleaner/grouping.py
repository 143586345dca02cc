"""Which segments become one when they are cleaned (Kafka's Cleaner.groupSegmentsBySize)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcompat.log.cleaner.job import CleanJob, Part

_MAX_SPAN = 2**31 - 1


def group(parts: tuple[Part, ...], job: CleanJob) -> list[list[Part]]:
    """Neighbours together as long as log and indexes stay within the size of one segment, and offsets within
    an int32 of the first: what is cleaned is at most as large.
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
