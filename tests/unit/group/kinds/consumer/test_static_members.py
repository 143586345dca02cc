"""Members with instance ids: away for a while, replaced, fenced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from support.consumer_group_world import SESSION_MS, topic_id

if TYPE_CHECKING:
    from support.consumer_group_world import ConsumerGroupWorld

T = topic_id("t")


def test_a_static_member_comes_back_to_its_partitions(world: ConsumerGroupWorld) -> None:
    world.enter("a", instance_id="i")
    world.enter("b", instance_id="j")
    world.settle("a", "b")
    before, epoch = world.members["a"], world.epochs["b"]
    assert world.beat("a", -2, instance_id="i").member_epoch == -2
    assert world.report("b").assigned is None, "nobody gets what it had"
    answer = world.enter("c", instance_id="i")
    assert world.members["c"] == before
    assert answer.member_epoch == epoch, "no rebalance"
    assert world.beat("a", epoch).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_instance_id_that_is_in_use(world: ConsumerGroupWorld) -> None:
    world.enter("a", instance_id="i")
    refused = world.enter("b", instance_id="i")
    assert (refused.error, refused.message) == (
        ErrorCode.UNRELEASED_INSTANCE_ID,
        "Static member b with instance id i cannot join the group because the instance id is owned by a "
        "member.",
    )
    assert not world.beat("a", instance_id="i").error


def test_the_member_id_that_was_replaced_is_fenced(world: ConsumerGroupWorld) -> None:
    world.enter("a", instance_id="i")
    world.beat("a", -2, instance_id="i")
    world.enter("b", instance_id="i")
    for epoch in (2, -1, -2):
        fenced = world.beat("a", epoch, instance_id="i")
        assert (fenced.error, fenced.message) == (
            ErrorCode.FENCED_INSTANCE_ID,
            "Static member a with instance id i was fenced by member b.",
        )


def test_an_instance_id_that_nobody_has(world: ConsumerGroupWorld) -> None:
    world.enter("a", instance_id="i")
    for epoch in (2, -1, -2):
        unknown = world.beat("a", epoch, instance_id="x")
        assert (unknown.error, unknown.message) == (
            ErrorCode.UNKNOWN_MEMBER_ID,
            "Instance id x is unknown.",
        )


def test_who_stays_away_longer_than_its_session_is_out(world: ConsumerGroupWorld) -> None:
    world.enter("a", instance_id="i")
    world.enter("b")
    world.settle("a", "b")
    world.report("b")
    world.beat("a", -2, instance_id="i")
    world.clock.advance(SESSION_MS - 1_000)
    world.report("b")
    world.clock.advance(1_000)
    world.settle("b")
    assert world.owned("b") == {"t": [0, 1, 2]}


def test_leaving_for_good(world: ConsumerGroupWorld) -> None:
    world.enter("a", instance_id="i")
    assert not world.beat("a", -1, instance_id="i").error
    assert world.enter("b", instance_id="i").assigned == {T: (0, 1, 2)}


def test_coming_back_with_another_subscription(world: ConsumerGroupWorld) -> None:
    world.enter("a", instance_id="i")
    world.beat("a", -2, instance_id="i")
    answer = world.enter("b", "u", instance_id="i")
    assert answer.member_epoch == 3
    assert world.owned("b") == {"u": [0, 1]}


def test_a_member_that_is_away_survives_a_restart(world: ConsumerGroupWorld) -> None:
    world.enter("a", instance_id="i")
    world.beat("a", -2, instance_id="i")
    world.restart()
    assert world.enter("b", instance_id="i").assigned == {T: (0, 1, 2)}


def test_one_that_comes_back_may_commit_in_any_epoch(world: ConsumerGroupWorld) -> None:
    world.enter("a", instance_id="i")
    world.beat("a", -2, instance_id="i")
    world.enter("b", instance_id="i")
    assert world.commit({("t", 0): 5}, "b", 1).value == {("t", 0): ErrorCode.NONE}
