"""Where a share group begins."""

from __future__ import annotations

import pytest

from kcompat.config.start_strategy import StartStrategy, duration_of


@pytest.mark.parametrize("strategy", ["latest", "EARLIEST"])
def test_ends(strategy: str) -> None:
    assert duration_of(strategy) is None


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("P1D", 86_400_000),
        ("PT1H2M3.5S", 3_723_500),
        ("PT1H-30M", 1_800_000),
        ("-PT-1S", 1_000),
        ("PT0S", 0),
        ("pt0.0019s", 1),
    ],
)
def test_durations_as_java_writes_them(text: str, ms: int) -> None:
    assert duration_of(f"by_duration:{text}") == ms
    assert StartStrategy().problem(f"by_duration:{text}") is None


@pytest.mark.parametrize("text", ["", "P", "PT", "1H", "-PT1S", "P1H", "PT1H2D"])
def test_what_is_no_duration(text: str) -> None:
    assert StartStrategy().problem(f"by_duration:{text}") is not None


@pytest.mark.parametrize("strategy", ["", "none", "by_duration"])
def test_what_is_no_strategy(strategy: str) -> None:
    assert StartStrategy().problem(strategy) is not None
