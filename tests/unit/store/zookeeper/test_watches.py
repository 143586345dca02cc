"""Events of a watch on a node that has changed."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from kcompat.store.interface import EventType
from kcompat.store.zookeeper.watches import differences


class State(NamedTuple):
    czxid: int
    mzxid: int
    pzxid: int


@pytest.mark.parametrize(
    ("before", "now", "events"),
    [
        (None, None, []),
        (State(1, 1, 1), State(1, 1, 1), []),
        (None, State(1, 1, 1), [EventType.CREATED]),
        (State(1, 1, 1), None, [EventType.DELETED]),
        (State(1, 1, 1), State(5, 5, 5), [EventType.DELETED, EventType.CREATED]),
        (State(1, 1, 1), State(1, 2, 1), [EventType.CHANGED]),
        (State(1, 1, 1), State(1, 1, 2), [EventType.CHILDREN_CHANGED]),
        (State(1, 1, 1), State(1, 2, 3), [EventType.CHANGED, EventType.CHILDREN_CHANGED]),
        (State(1, 1, 1), State(1, 3, 2), [EventType.CHILDREN_CHANGED, EventType.CHANGED]),
    ],
)
def test_differences_are_told_in_the_order_they_happened(
    before: State | None, now: State | None, events: list[EventType]
) -> None:
    assert differences(before, now) == events
