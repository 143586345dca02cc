"""Stored ranges of records, put together as Kafka's `PersisterStateBatchCombiner` does."""

from __future__ import annotations

import pytest

from kcompat.share.batches import StateBatch, combine

AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4


def batch(first: int, last: int, state: int = AVAILABLE, count: int = 1) -> StateBatch:
    return StateBatch(first, last, state, count)


@pytest.mark.parametrize(
    ("known", "news", "start", "expected"),
    [
        pytest.param([], [], -1, [], id="nothing"),
        pytest.param([batch(0, 9)], [], -1, [batch(0, 9)], id="no news"),
        pytest.param([batch(0, 9)], [batch(0, 9)], -1, [batch(0, 9)], id="said twice"),
        pytest.param([batch(0, 9)], [batch(10, 19)], -1, [batch(0, 19)], id="neighbours alike"),
        pytest.param([batch(0, 9)], [batch(11, 19)], -1, [batch(0, 9), batch(11, 19)], id="a gap between"),
        pytest.param([batch(0, 9)], [batch(5, 19)], -1, [batch(0, 19)], id="an overlap alike"),
        pytest.param(
            [batch(0, 9)], [batch(0, 9, ACKNOWLEDGED)], -1, [batch(0, 9, ACKNOWLEDGED)], id="a later state"
        ),
        pytest.param(
            [batch(0, 9, ACKNOWLEDGED)], [batch(0, 9)], -1, [batch(0, 9, ACKNOWLEDGED)], id="an earlier state"
        ),
        pytest.param(
            [batch(0, 9, ACKNOWLEDGED)],
            [batch(0, 9, count=2)],
            -1,
            [batch(0, 9, count=2)],
            id="count first",
        ),
        pytest.param(
            [batch(0, 9)],
            [batch(3, 5, ARCHIVED)],
            -1,
            [batch(0, 2), batch(3, 5, ARCHIVED), batch(6, 9)],
            id="in the middle",
        ),
        pytest.param([batch(0, 9, ARCHIVED)], [batch(3, 5)], -1, [batch(0, 9, ARCHIVED)], id="swallowed"),
        pytest.param(
            [batch(0, 9)],
            [batch(5, 14, ACKNOWLEDGED)],
            -1,
            [batch(0, 4), batch(5, 14, ACKNOWLEDGED)],
            id="over the end",
        ),
        pytest.param(
            [batch(0, 9, ACKNOWLEDGED)],
            [batch(5, 14)],
            -1,
            [batch(0, 9, ACKNOWLEDGED), batch(10, 14)],
            id="behind the end",
        ),
        pytest.param([batch(0, 9)], [batch(20, 29)], 15, [batch(20, 29)], id="below the start"),
        pytest.param([batch(0, 9)], [], 5, [batch(5, 9)], id="around the start"),
        pytest.param(
            [batch(5, 5, ACKNOWLEDGED), batch(0, 9)],
            [batch(2, 12, count=2), batch(11, 20)],
            1,
            [batch(1, 1), batch(2, 12, count=2), batch(13, 20)],
            id="many",
        ),
    ],
)
def test_batches_are_combined(
    known: list[StateBatch], news: list[StateBatch], start: int, expected: list[StateBatch]
) -> None:
    assert combine(known, news, start) == tuple(expected)
