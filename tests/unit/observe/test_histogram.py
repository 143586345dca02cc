"""Durations in buckets: quantiles near the exact ones, over the last minutes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcompat.observe.histogram import (
    BUCKETS,
    STEP_S,
    WINDOW_S,
    Window,
    bucket_of,
    middle_of,
    new_histogram,
    quantiles_of,
)


@given(st.integers(8, 2**47))
def test_a_duration_is_near_the_middle_of_its_bucket(ns: int) -> None:
    middle = middle_of(bucket_of(ns))
    assert abs(middle - ns) <= ns / 8


@given(st.integers(0, 2**47), st.integers(0, 2**47))
def test_longer_durations_are_in_no_lower_bucket(one: int, other: int) -> None:
    assert (bucket_of(one) <= bucket_of(other)) or one > other or max(one, other) < 16


def test_extremes_have_a_bucket() -> None:
    assert 0 <= bucket_of(0) < BUCKETS
    assert bucket_of(2**60) == BUCKETS - 1


@pytest.mark.parametrize("count", [1, 7, 1000])
def test_quantiles_are_near_the_exact_ones(count: int) -> None:
    durations = sorted(1000 + 977 * n for n in range(count))
    counts = new_histogram()
    for ns in durations:
        counts[bucket_of(ns)] += 1
    wanted = (0.5, 0.75, 0.99, 1.0)
    for share, found in zip(wanted, quantiles_of(counts, wanted), strict=True):
        exact = durations[max(0, -(-int(share * count * 1000) // 1000) - 1)]
        assert found == pytest.approx(exact, rel=0.3)


def test_an_empty_histogram_has_quantiles_of_zero() -> None:
    assert quantiles_of(new_histogram(), (0.5, 0.99)) == [0.0, 0.0]


def test_a_window_forgets_what_is_older() -> None:
    window, counts = Window(), new_histogram()
    counts[10] = 5
    now = 1000.0
    window.note(now, {"a": counts})
    counts[20] = 3
    assert window.lately(now + 1, "a", counts) == counts, "nothing older is known yet"
    later = now + WINDOW_S
    window.note(later, {"a": counts})
    counts[20] += 1
    lately = window.lately(later + 1, "a", counts)
    assert (lately[10], lately[20]) == (0, 4)
    window.note(later + STEP_S, {"a": counts})
    much_later = later + STEP_S + WINDOW_S
    window.note(much_later, {"a": counts})
    assert sum(window.lately(much_later, "a", counts)) == 0
    assert window.lately(much_later, "b", counts) == counts, "it began after the window"
