"""A consumer group becomes a classic one when the last member leaves that uses the consumer protocol."""

from __future__ import annotations

import pytest

from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.group.kinds.classic.group import ClassicGroup
from kcompat.group.kinds.classic.state import ClassicState
from kcompat.group.kinds.consumer.group import ConsumerGroup
from kcompat.group.mixed.policy import MigrationPolicy
from kcompat.group.modern.settings import ConsumerGroupConfig
from kcompat.group.requests import MemberIdentity
from kcompat.protocol.errors import ErrorCode
from support.consumer_group_world import SESSION_MS
from support.mixed_group_world import ClassicConsumer, MixedGroupWorld


def mixed(world: MixedGroupWorld, *classic: ClassicConsumer, rounds: int = 8) -> None:
    """Bring `new`, which uses the consumer protocol, and classic consumers to their targets."""
    world.enter("new")
    for _ in range(rounds):
        for consumer in classic:
            consumer.poll()
        world.report("new")


def rejoined(*consumers: ClassicConsumer, rounds: int = 8) -> None:
    for _ in range(rounds):
        for consumer in consumers:
            consumer.poll()


@pytest.mark.parametrize("how", ["heartbeat", "leave group", "session"])
def test_the_others_share_out_among_themselves_when_the_last_one_goes(
    world: MixedGroupWorld, how: str
) -> None:
    one, two = ClassicConsumer(world), ClassicConsumer(world)
    mixed(world, one, two)
    epoch = world.consumers().group_epoch
    if how == "heartbeat":
        assert world.beat("new", -1).error is ErrorCode.NONE
    elif how == "leave group":
        (outcome,) = world.leave("new").value.members
        assert outcome == (MemberIdentity("new"), ErrorCode.NONE)
    else:
        for _ in range(SESSION_MS // 9_000):
            world.clock.advance(9_000)
            rejoined(one, two, rounds=1)
    group = world.classic()
    assert (group.generation, group.state) == (epoch, ClassicState.PREPARING_REBALANCE)
    assert sorted(group.members) == sorted([one.member_id, two.member_id])
    rejoined(one, two)
    assert one.owned | two.owned == {("t", 0), ("t", 1), ("t", 2)}
    assert not one.owned & two.owned
    assert world.classic().state is ClassicState.STABLE


def test_the_log_has_the_classic_group_alone(world: MixedGroupWorld) -> None:
    one = ClassicConsumer(world)
    mixed(world, one)
    world.commit({("t", 0): 7}, "new", world.epochs["new"])
    world.beat("new", -1)
    world.restart()
    group = world.classic()
    assert (group.state, list(group.members)) == (ClassicState.PREPARING_REBALANCE, [one.member_id])
    assert world.fetch() == {("t", 0): 7}
    rejoined(one)
    assert one.owned == {("t", 0), ("t", 1), ("t", 2)}


def test_while_another_member_uses_the_protocol_the_group_stays(world: MixedGroupWorld) -> None:
    one = ClassicConsumer(world)
    mixed(world, one)
    world.enter("newer")
    world.beat("new", -1)
    assert isinstance(world.held(), ConsumerGroup)
    world.leave("newer", one.member_id)
    assert isinstance(world.held(), ConsumerGroup), "nobody is left"


@pytest.mark.parametrize("policy", MigrationPolicy)
def test_the_policy_decides(policy: MigrationPolicy) -> None:
    world = MixedGroupWorld(GroupCoordinatorConfig(consumer=ConsumerGroupConfig(migration=policy)))
    one = ClassicConsumer(world)
    mixed(world, one)
    world.beat("new", -1)
    assert isinstance(world.held(), ClassicGroup) is policy.may_downgrade


def test_a_group_too_large_for_a_classic_one_stays() -> None:
    world = MixedGroupWorld(GroupCoordinatorConfig(max_size=1))
    one, two = ClassicConsumer(world), ClassicConsumer(world)
    mixed(world, one, two)
    world.beat("new", -1)
    assert isinstance(world.held(), ConsumerGroup)


def test_a_static_member_comes_back_with_the_classic_protocol_and_its_partitions(
    world: MixedGroupWorld,
) -> None:
    world.enter("new", instance_id="one")
    two = ClassicConsumer(world)
    rejoined(two)
    world.settle("new")
    rejoined(two)
    mine = {("t", index) for index in world.owned("new")["t"]}
    world.beat("new", -2, instance_id="one")
    one = ClassicConsumer(world, instance_id="one", eager=True)
    epoch = world.consumers().group_epoch
    rejoined(one, rounds=3)
    group = world.classic()
    assert (group.state, group.generation) == (ClassicState.STABLE, epoch)
    assert one.owned == mine
    rejoined(two)
    assert one.generation == two.generation == epoch


def test_a_static_member_that_comes_back_with_other_topics_has_all_rebalance(
    world: MixedGroupWorld,
) -> None:
    world.enter("new", instance_id="one")
    two = ClassicConsumer(world)
    rejoined(two)
    world.settle("new")
    rejoined(two)
    one = ClassicConsumer(world, "tu", instance_id="one")
    rejoined(one, rounds=1)
    assert world.classic().state is ClassicState.PREPARING_REBALANCE
    rejoined(one, two)
    assert world.classic().state is ClassicState.STABLE


def test_sessions_of_the_classic_members_go_on(world: MixedGroupWorld) -> None:
    one = ClassicConsumer(world)
    mixed(world, one)
    world.beat("new", -1)
    world.clock.advance(10_000)
    assert world.classic().state is ClassicState.EMPTY


def test_an_append_that_fails_leaves_the_consumer_group_as_it_was(world: MixedGroupWorld) -> None:
    one = ClassicConsumer(world)
    mixed(world, one)
    world.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.beat("new", -1).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.log.error = ErrorCode.NONE
    assert isinstance(world.held(), ConsumerGroup)
    world.clock.advance(9_999)
    assert len(world.consumers().members) == 2
    world.clock.advance(1)
    assert len(world.consumers().members) == 1
