"""The part of a log that can be cleaned, and whether cleaning is due."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.log.cleaner.selection import Cleanable, assess, first_dirty
from support.default_settings import log_settings

NOW = 100_000


class FakeSegment:
    def __init__(self, base_offset: int, size: int, first_ms: int = 1000, newest_ms: int = 2000) -> None:
        self.base_offset = base_offset
        self.size = size
        self._times = first_ms, newest_ms

    def first_batch_ms(self) -> int:
        return self._times[0]

    def largest_timestamp(self) -> int:
        return self._times[1]


SEGMENTS: Any = [
    FakeSegment(0, 100, 1000, 10_000),
    FakeSegment(10, 200, 10_000, 20_000),
    FakeSegment(20, 300, 20_000, 90_000),
    FakeSegment(30, 400, 90_000, 95_000),
    FakeSegment(40, 999, 95_000, 99_000),
]


def cleanable(first: int = 0, stable: int = 50, **config: int) -> Cleanable:
    return assess(SEGMENTS, log_settings(**config), first, stable, NOW)


@pytest.mark.parametrize(
    ("checkpoint", "start", "end", "expected"),
    [(None, 3, 10, 3), (5, 3, 10, 5), (3, 3, 10, 3), (2, 3, 10, 3), (10, 3, 10, 10), (11, 3, 10, 3)],
)
def test_where_cleaning_begins(checkpoint: int | None, start: int, end: int, expected: int) -> None:
    assert first_dirty(checkpoint, start, end) == expected


def test_the_active_segment_is_not_cleaned() -> None:
    assert cleanable() == Cleanable(0, 40, 0, 1000, False)


def test_the_clean_part() -> None:
    found = cleanable(20)
    assert (found.clean_bytes, found.dirty_bytes, found.ratio) == (300, 700, 0.7)
    assert found.is_due(0.5)
    assert not found.is_due(0.7)


def test_nothing_is_dirty() -> None:
    found = cleanable(40)
    assert (found.upper_offset, found.dirty_bytes, found.ratio) == (40, 0, 0.0)
    assert not found.is_due(0.0)


@pytest.mark.parametrize(
    ("stable", "upper", "dirty"), [(50, 40, 1000), (39, 30, 600), (30, 30, 600), (9, 0, 0)]
)
def test_open_transactions_hold_cleaning_up(stable: int, upper: int, dirty: int) -> None:
    found = cleanable(stable=stable)
    assert (found.upper_offset, found.dirty_bytes) == (upper, dirty)


@pytest.mark.parametrize(
    ("lag", "upper"), [(1, 40), (5000, 40), (5001, 30), (10_001, 20), (80_001, 10), (90_001, 0)]
)
def test_young_segments_stay(lag: int, upper: int) -> None:
    assert cleanable(min_compaction_lag_ms=lag).upper_offset == upper


def test_an_unclean_segment_below_a_clean_one_counts_from_the_first_dirty() -> None:
    """min.compaction.lag looks at dirty segments only."""
    assert cleanable(20, min_compaction_lag_ms=80_001).upper_offset == 20


def test_old_records_force_a_cleaning() -> None:
    assert cleanable(20, max_compaction_lag_ms=79_999).is_forced
    assert not cleanable(20, max_compaction_lag_ms=80_000).is_forced
    assert cleanable(20, max_compaction_lag_ms=79_999).is_due(0.99)
    assert not cleanable(20, stable=20, max_compaction_lag_ms=1).is_due(0.0)


def test_a_log_of_one_segment_has_nothing_to_clean() -> None:
    only: Any = [FakeSegment(7, 100)]
    assert assess(only, log_settings(), 7, 50, NOW) == Cleanable(7, 7, 0, 0, False)
