"""`segment.jitter.ms`: segments that began together are not rolled together."""

from __future__ import annotations

from kcompat.log.files import FILES
from kcompat.log.segment import Segment
from support.default_settings import log_settings

CONFIG = log_settings(segment_ms=10_000, segment_jitter_ms=9_000)


def rolls_at(directory: str) -> int:
    """The first time, of every 50 ms, at which the segment may take no more."""
    segment = Segment(FILES, directory, 0, CONFIG, 0)
    segment.first_timestamp, segment.size = 0, 1
    return next(ms for ms in range(0, 11_000, 50) if segment.must_roll(1, 1, ms, ms))


def test_each_has_a_time_of_its_own_that_does_not_change() -> None:
    times = [rolls_at(f"/a/t-{partition}") for partition in range(20)]
    assert len(set(times)) > 10
    assert all(1_000 <= ms <= 10_050 for ms in times)
    assert times == [rolls_at(f"/elsewhere/t-{partition}") for partition in range(20)]
