"""Which segments the cleaner joins into one."""

from __future__ import annotations

import msgspec

from kcompat.log.cleaner.job import CleanJob, Rules, SegmentPart
from kcompat.log.cleaner.selection import group

RULES = Rules(now_ms=0, delete_retention_ms=0, max_message_bytes=1000, upper_offset=0, producers={})
JOB = CleanJob(
    directory="",
    parts=(),
    first_dirty_offset=0,
    rules=RULES,
    segment_bytes=1000,
    segment_index_bytes=80,
    index_interval_bytes=0,
    map_bytes=0,
    load_factor=0.9,
    bytes_per_second=1.0,
)


def bases(*parts: SegmentPart) -> list[list[int]]:
    upper_offset = parts[-1].base_offset + 10
    job = msgspec.structs.replace(JOB, rules=msgspec.structs.replace(RULES, upper_offset=upper_offset))
    return [[part.base_offset for part in members] for members in group(parts, job)]


def test_nothing() -> None:
    assert group((), JOB) == []


def test_groups_keep_to_the_segment_size() -> None:
    sizes = [400, 600, 1, 999, 1000, 1200, 0, 10]
    parts = [SegmentPart(number * 10, size, 8, 12, 0) for number, size in enumerate(sizes)]
    assert bases(*parts) == [[0, 10], [20, 30], [40], [50], [60, 70]]


def test_groups_keep_to_the_index_size() -> None:
    assert bases(SegmentPart(0, 1, 40, 0, 0), SegmentPart(1, 1, 40, 0, 0), SegmentPart(2, 1, 8, 0, 0)) == [
        [0, 1],
        [2],
    ]
    assert bases(SegmentPart(0, 1, 0, 48, 0), SegmentPart(1, 1, 0, 36, 0)) == [[0], [1]]


def test_groups_keep_to_an_int32_of_offsets() -> None:
    limit = 2**31 - 1
    parts = [SegmentPart(base_offset, 1, 0, 0, 0) for base_offset in (0, 100, limit - 9, 2**33)]
    assert bases(*parts) == [[0, 100], [limit - 9], [2**33]]
    assert bases(*parts[:3]) == [[0, 100, limit - 9]]
    # an empty segment adds no offset
    assert bases(
        SegmentPart(0, 1, 0, 0, 0), SegmentPart(100, 0, 0, 0, 0), SegmentPart(2**33, 1, 0, 0, 0)
    ) == [[0, 100], [2**33]]
