"""Tests of the state of a consumer group in a coordinator that has just loaded it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.group_coordinators import ConsumerGroupFixture

PRODUCER = 7


def test_nobody_is_given_what_another_holds_when_a_member_comes_back_under_its_old_id(
    fixture: ConsumerGroupFixture,
) -> None:
    """A loader that stops between, as it does at each commit of a transaction, has seen `a` hold all; of what
    comes then it replays the last record of each key.
    """
    fixture.enter("a")
    fixture.stage(PRODUCER, {("t", 0): 1})
    fixture.beat("a", -1)
    fixture.enter("b")
    fixture.enter("a")
    fixture.restart()
    assert fixture.owned("b") == {"t": [0, 1, 2]}
    fixture.report("a")
    assert fixture.owned("a") == {}
    fixture.settle("b", "a")
    assert sorted(fixture.owned("a")["t"] + fixture.owned("b")["t"]) == [0, 1, 2]
