"""What a coordinator that has just loaded a consumer group knows of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.consumer_group_world import ConsumerGroupWorld

PRODUCER = 7


def test_nobody_is_given_what_another_holds_when_a_member_comes_back_under_its_old_id(
    world: ConsumerGroupWorld,
) -> None:
    """A loader that stops between, as it does at each commit of a transaction, has seen `a` hold all; of what
    comes then it replays the last record of each key.
    """
    world.enter("a")
    world.stage(PRODUCER, {("t", 0): 1})
    world.beat("a", -1)
    world.enter("b")
    world.enter("a")
    world.restart()
    assert world.owned("b") == {"t": [0, 1, 2]}
    world.report("a")
    assert world.owned("a") == {}
    world.settle("b", "a")
    assert sorted(world.owned("a")["t"] + world.owned("b")["t"]) == [0, 1, 2]
