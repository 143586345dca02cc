"""What a consumer group sets for itself is in force from the next heartbeat on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.kinds.consumer.pace import NEW_MS
from kcompat.group.kinds.consumer.roster import ConsumerState
from support.group_world import GROUP

if TYPE_CHECKING:
    from support.consumer_group_world import ConsumerGroupWorld


def sets(world: ConsumerGroupWorld, **own: str) -> None:
    configs = {f"consumer.{name.replace('_', '.')}": value for name, value in own.items()}
    world.show(world.image.with_configs({("groups", GROUP): configs}))


def test_the_interval_of_heartbeats(world: ConsumerGroupWorld) -> None:
    world.enter("a")
    world.enter("b", group_id="other")
    world.clock.advance(NEW_MS)
    assert world.beat("a").heartbeat_interval_ms == 5_000
    sets(world, heartbeat_interval_ms="7000")
    assert world.beat("a").heartbeat_interval_ms == 7_000
    assert world.beat("b", group_id="other").heartbeat_interval_ms == 5_000
    sets(world)
    assert world.beat("a").heartbeat_interval_ms == 5_000


def test_bounds_that_are_younger_than_a_value_hold(world: ConsumerGroupWorld) -> None:
    sets(world, heartbeat_interval_ms="60000", session_timeout_ms="1")
    world.enter("a")
    world.clock.advance(44_999)
    assert world.beat("a").heartbeat_interval_ms == 15_000


def test_the_session_timeout(world: ConsumerGroupWorld) -> None:
    sets(world, session_timeout_ms="50000")
    world.enter("a")
    world.clock.advance(49_999)
    assert not world.beat("a").error
    world.clock.advance(50_000)
    assert world.consumers().state is ConsumerState.EMPTY


def test_sessions_begin_anew_with_it_after_a_restart(world: ConsumerGroupWorld) -> None:
    world.enter("a")
    sets(world, session_timeout_ms="50000")
    world.restart()
    world.clock.advance(49_999)
    assert world.consumers().state is ConsumerState.STABLE
    world.clock.advance(1)
    assert world.consumers().state is ConsumerState.EMPTY


def test_targets_are_not_made_more_often_than_the_interval(world: ConsumerGroupWorld) -> None:
    sets(world, assignment_interval_ms="1000")
    world.enter("a")
    assert world.enter("b").member_epoch == 2
    assert world.consumers().state is ConsumerState.ASSIGNING
    world.clock.advance(999)
    assert world.beat("b").member_epoch == 2
    world.clock.advance(1)
    assert world.beat("b").member_epoch == 3
