"""Members heartbeat more often while their group comes together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.group.kinds.consumer.heartbeat import LEAST_INTERVAL_MS, NEW_TARGET_MS, interval_ms
from kcompat.group.modern.group import GroupHeader

if TYPE_CHECKING:
    from support.group_coordinators import ConsumerGroupFixture

SETTING_MS, NOW_MS = 5_000, 1_000_000


@pytest.mark.parametrize(
    ("made_ms_ago", "behind", "members", "expected"),
    [
        (0, False, 1, LEAST_INTERVAL_MS),
        (NEW_TARGET_MS - 1, False, 1, LEAST_INTERVAL_MS),
        (NEW_TARGET_MS, False, 1, SETTING_MS),
        (NOW_MS, False, 1, SETTING_MS),
        (NOW_MS, True, 1, LEAST_INTERVAL_MS),
        (0, False, 200, 1_000),
        (0, False, 10_000, SETTING_MS),
    ],
)
def test_the_interval(made_ms_ago: int, behind: bool, members: int, expected: int) -> None:
    header = GroupHeader(group_epoch=7, assignment_epoch=7, assignment_timestamp=NOW_MS - made_ms_ago)
    assert interval_ms(SETTING_MS, header, 7 + behind, members, NOW_MS) == expected


def test_a_short_setting_is_kept() -> None:
    assert interval_ms(100, GroupHeader(), 2, 1, NOW_MS) == 100


def test_who_is_there_already_hurries_when_another_comes(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a")
    fixture.clock.advance(NEW_TARGET_MS)
    assert fixture.beat("a").heartbeat_interval_ms == SETTING_MS
    assert fixture.enter("b").heartbeat_interval_ms == LEAST_INTERVAL_MS
    assert fixture.report("a").heartbeat_interval_ms == LEAST_INTERVAL_MS
    fixture.clock.advance(NEW_TARGET_MS)
    assert fixture.report("a").heartbeat_interval_ms == SETTING_MS
