"""Groups that grow, shrink or are deployed anew are no trouble; members that come and go in turn are."""

from __future__ import annotations

import pytest

from kcompat.group.events import MOST_GROUPS, Change, GroupEvents, Why
from kcompat.notices.notices import Notices
from support.virtual_clock import VirtualClock

JOIN, DEPARTURE, UPDATE = (Why(change, f"a {change.value}") for change in Change)


@pytest.fixture
def events() -> GroupEvents:
    return GroupEvents(Notices(VirtualClock()))


@pytest.mark.parametrize(
    "course",
    [
        [JOIN] * 50 + [DEPARTURE] * 50,
        [JOIN, UPDATE] * 50,  # a cooperative assignor: members give up partitions and join again
        [DEPARTURE, UPDATE] * 50,
        [DEPARTURE, JOIN] * 3,  # three members are deployed anew
    ],
    ids=["grows and shrinks", "grows step by step", "shrinks step by step", "is deployed anew"],
)
def test_a_healthy_group_has_no_line(
    course: list[Why], events: GroupEvents, caplog: pytest.LogCaptureFixture
) -> None:
    for why in course:
        events.rebalances("g", why)
    assert not caplog.messages


@pytest.mark.parametrize("course", [[JOIN, DEPARTURE] * 5, [UPDATE] * 10], ids=["come and go", "update"])
def test_a_restless_group_has_one_line_with_the_last_reason(
    course: list[Why], events: GroupEvents, caplog: pytest.LogCaptureFixture
) -> None:
    for why in course:
        events.rebalances("g", why)
        events.rebalances("other", JOIN)
    [line] = caplog.messages
    assert line.startswith("group g: the group rebalances again and again, last for this reason: a ")


def test_the_groups_that_are_remembered_are_bounded(events: GroupEvents) -> None:
    for number in range(2 * MOST_GROUPS):
        events.rebalances(f"g{number}", JOIN)
    assert len(events._last) == MOST_GROUPS
