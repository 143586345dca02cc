"""Tests of a consumer group's own configs, which apply from the next heartbeat on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.kinds.consumer.heartbeat import NEW_TARGET_MS
from kcompat.group.kinds.consumer.members import ConsumerState
from support.group_coordinators import GROUP

if TYPE_CHECKING:
    from support.group_coordinators import ConsumerGroupFixture


def sets(fixture: ConsumerGroupFixture, **own: str) -> None:
    configs = {f"consumer.{name.replace('_', '.')}": value for name, value in own.items()}
    fixture.show(fixture.image.with_configs({("groups", GROUP): configs}))


def test_the_interval_of_heartbeats(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a")
    fixture.enter("b", group_id="other")
    fixture.clock.advance(NEW_TARGET_MS)
    assert fixture.beat("a").heartbeat_interval_ms == 5_000
    sets(fixture, heartbeat_interval_ms="7000")
    assert fixture.beat("a").heartbeat_interval_ms == 7_000
    assert fixture.beat("b", group_id="other").heartbeat_interval_ms == 5_000
    sets(fixture)
    assert fixture.beat("a").heartbeat_interval_ms == 5_000


def test_bounds_that_are_younger_than_a_value_hold(fixture: ConsumerGroupFixture) -> None:
    sets(fixture, heartbeat_interval_ms="60000", session_timeout_ms="1")
    fixture.enter("a")
    fixture.clock.advance(44_999)
    assert fixture.beat("a").heartbeat_interval_ms == 15_000


def test_the_session_timeout(fixture: ConsumerGroupFixture) -> None:
    sets(fixture, session_timeout_ms="50000")
    fixture.enter("a")
    fixture.clock.advance(49_999)
    assert not fixture.beat("a").error
    fixture.clock.advance(50_000)
    assert fixture.consumers().state is ConsumerState.EMPTY


def test_sessions_begin_anew_with_it_after_a_restart(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a")
    sets(fixture, session_timeout_ms="50000")
    fixture.restart()
    fixture.clock.advance(49_999)
    assert fixture.consumers().state is ConsumerState.STABLE
    fixture.clock.advance(1)
    assert fixture.consumers().state is ConsumerState.EMPTY


def test_targets_are_not_made_more_often_than_the_interval(fixture: ConsumerGroupFixture) -> None:
    sets(fixture, assignment_interval_ms="1000")
    fixture.enter("a")
    assert fixture.enter("b").member_epoch == 2
    assert fixture.consumers().state is ConsumerState.ASSIGNING
    fixture.clock.advance(999)
    assert fixture.beat("b").member_epoch == 2
    fixture.clock.advance(1)
    assert fixture.beat("b").member_epoch == 3
