"""Rates and throttle times, beside a model of Kafka's `Rate` that keeps every sample as Kafka's code does."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcompat.security.quotas.rates import (
    LONGEST_THROTTLE_MS,
    LimitedRate,
    QuotaWindow,
    SampledRate,
    TokenBucket,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

T0 = 1_700_000_000_000


class KafkaSample:
    """A sample of Kafka's `SampledStat`."""

    def __init__(self, now: int) -> None:
        self.reset(now)

    def reset(self, now: int) -> None:
        self.start = self.last_event = now
        self.value = 0.0


class KafkaRate:
    """A model of Kafka's `Rate` over a `WindowedSum`, statement by statement."""

    def __init__(self, samples: int, window_ms: int) -> None:
        self.samples: list[KafkaSample] = []
        self.current = 0
        self.count, self.window = samples, window_ms

    def record(self, value: float, now: int) -> None:
        sample = self._current(now)
        if now - sample.start >= self.window:
            self.current = (self.current + 1) % (self.count + 1)
            if self.current >= len(self.samples):
                self.samples.append(KafkaSample(now))
            else:
                self.samples[self.current].reset(now)
            sample = self.samples[self.current]
        sample.value += value
        sample.last_event = now

    def _current(self, now: int) -> KafkaSample:
        if not self.samples:
            self.samples.append(KafkaSample(now))
        return self.samples[self.current]

    def _purge(self, now: int) -> None:
        for sample in self.samples:
            if now - sample.last_event >= self.count * self.window:
                sample.reset(now)

    def measure(self, now: int) -> float:
        self._purge(now)
        total = sum(sample.value for sample in self.samples)
        return total / (self.window_size(now) / 1000)

    def window_size(self, now: int) -> int:
        self._purge(now)
        self._current(now)
        elapsed = now - min(sample.start for sample in self.samples)
        full = elapsed // self.window
        if full < self.count - 1:
            elapsed += (self.count - 1 - full) * self.window
        return max(elapsed, 1)


WINDOWS = st.builds(QuotaWindow, st.integers(1, 12), st.sampled_from([1, 7, 100, 1000, 3000]))
PAUSES = st.one_of(
    st.integers(0, 50),
    st.integers(0, 3000),
    st.integers(0, 40_000),
    st.sampled_from([999, 1000, 1001, 11_000]),
)
RECORDS = st.lists(st.tuples(PAUSES, st.integers(-1000, 10_000_000)), min_size=1, max_size=60)


@given(WINDOWS, RECORDS, PAUSES)
def test_a_rate_is_that_of_kafka(window: QuotaWindow, records: Sequence[tuple[int, int]], pause: int) -> None:
    ours, model, now = SampledRate(window), KafkaRate(window.samples, window.sample_ms), T0
    for waited, value in records:
        now += waited
        ours.record(value, now)
        model.record(value, now)
        if value % 3:  # measuring resets samples, so it must not be needed after each record
            assert ours.per_second(now) == pytest.approx(model.measure(now))
            assert ours.window_ms(now) == model.window_size(now)
    now += pause
    assert ours.per_second(now) == pytest.approx(model.measure(now))
    assert ours.window_ms(now) == model.window_size(now)


@given(WINDOWS, RECORDS, st.integers(1, 1_000_000))
def test_a_throttle_time_is_that_of_kafka(
    window: QuotaWindow, records: Sequence[tuple[int, int]], limit: int
) -> None:
    ours, model, now = LimitedRate(limit, window), KafkaRate(window.samples, window.sample_ms), T0
    for waited, size in records:
        now += waited
        model.record(abs(size), now)
        rate = model.measure(now)
        excess_ms = (rate - limit) / limit * model.window_size(now) if rate > limit else 0
        assert ours.record(abs(size), now) == min(math.floor(excess_ms + 0.5), LONGEST_THROTTLE_MS)


@given(WINDOWS, RECORDS)
def test_an_idle_rate_measures_as_a_new_one(window: QuotaWindow, records: Sequence[tuple[int, int]]) -> None:
    used, now = LimitedRate(1000, window), T0
    for waited, size in records:
        now += waited
        used.record(abs(size), now)
    now += window.samples * window.sample_ms
    assert used.is_idle(now)
    assert used.record(5_000_000, now) == LimitedRate(1000, window).record(5_000_000, now)


def test_one_burst_is_throttled_until_the_window_has_room_for_it() -> None:
    # 10 MiB at 1 MiB/s: the window of 10 s holds it exactly, each further MiB takes a second.
    rate = LimitedRate(1024 * 1024, QuotaWindow())
    assert rate.record(10 * 1024 * 1024, T0) == 0
    assert rate.record(1024 * 1024, T0) == 1000
    assert rate.record(512 * 1024, T0) == 1500


def test_bytes_that_are_taken_back_count_no_more() -> None:
    rate = LimitedRate(1000, QuotaWindow())
    assert rate.record(30_000, T0) == 20_000
    rate.take_back(30_000, T0)
    assert rate.record(10_000, T0) == 0


def test_the_most_at_once_is_not_throttled() -> None:
    most = LimitedRate(1000, QuotaWindow()).most_at_once
    assert LimitedRate(1000, QuotaWindow()).record(most, T0) == 0
    assert LimitedRate(1000, QuotaWindow()).record(most + 1, T0) > 0


def test_a_throttle_time_has_an_upper_bound() -> None:
    assert LimitedRate(1, QuotaWindow(), longest_ms=1000).record(1e9, T0) == 1000
    assert LimitedRate(1, QuotaWindow()).record(1e12, T0) == LONGEST_THROTTLE_MS


def test_a_wall_clock_that_is_set_back_begins_a_new_window() -> None:
    rate = LimitedRate(1000, QuotaWindow())
    assert rate.record(30_000, T0) == 20_000
    assert rate.record(30_000, T0 - 3_600_000) == 20_000
    assert rate.record(1_000, T0 - 3_600_000 + 60_000) == 0


@given(st.lists(st.tuples(PAUSES, st.integers(1, 200)), max_size=40), st.floats(0.1, 100))
def test_a_bucket_allows_the_limit_and_one_window_of_it_at_once(
    requests: Sequence[tuple[int, int]], limit: float
) -> None:
    window, now, taken, largest = QuotaWindow(), T0, 0, 0
    bucket = TokenBucket(limit, window)
    for waited, tokens in requests:
        now += waited
        if not bucket.throttle_ms(now):
            bucket.take(tokens, now)
            taken, largest = taken + tokens, max(largest, tokens)
    most = limit * (now - T0) / 1000 + limit * 11 + largest
    assert taken <= most * 1.001 + 1


def test_a_bucket_says_when_its_debt_is_refilled() -> None:
    bucket = TokenBucket(5, QuotaWindow())
    bucket.take(55 + 10, T0)
    assert bucket.throttle_ms(T0) == 2000
    assert bucket.throttle_ms(T0 + 1500) == 500
    assert bucket.throttle_ms(T0 + 2000) == 0
    assert not bucket.is_idle(T0 + 2000)
    assert bucket.is_idle(T0 + 2000 + 11_000)


def test_a_bucket_refills_no_faster_than_the_clock_that_is_set_back() -> None:
    bucket = TokenBucket(5, QuotaWindow())
    bucket.take(65, T0)
    assert bucket.throttle_ms(T0 - 1000) == 2000
    assert bucket.throttle_ms(T0) == 1000
