"""A consumer group becomes a classic one when the last member leaves that uses the consumer protocol."""

from __future__ import annotations

import pytest

from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.group.kinds.classic.group import ClassicGroup
from kcompat.group.kinds.classic.members import ClassicState
from kcompat.group.kinds.consumer.group import ConsumerGroup
from kcompat.group.kinds.consumer.settings import ConsumerGroupConfig, MigrationPolicy
from kcompat.group.requests import MemberIdentity
from kcompat.protocol.errors import ErrorCode
from support.classic_consumer import ClassicConsumer
from support.default_settings import with_defaults
from support.group_coordinators import SESSION_MS, ConsumerGroupFixture


def mixed(fixture: ConsumerGroupFixture, *classic: ClassicConsumer, rounds: int = 8) -> None:
    """Bring `new`, which uses the consumer protocol, and classic consumers to their targets."""
    fixture.enter("new")
    for _ in range(rounds):
        for consumer in classic:
            consumer.poll()
        fixture.report("new")


def rejoined(*consumers: ClassicConsumer, rounds: int = 8) -> None:
    for _ in range(rounds):
        for consumer in consumers:
            consumer.poll()


@pytest.mark.parametrize("how", ["heartbeat", "leave group", "session"])
def test_the_others_share_out_among_themselves_when_the_last_one_goes(
    fixture: ConsumerGroupFixture, how: str
) -> None:
    one, two = ClassicConsumer(fixture), ClassicConsumer(fixture)
    mixed(fixture, one, two)
    epoch = fixture.consumers().group_epoch
    if how == "heartbeat":
        assert fixture.beat("new", -1).error is ErrorCode.NONE
    elif how == "leave group":
        (outcome,) = fixture.leave("new").value.members
        assert outcome == (MemberIdentity("new"), ErrorCode.NONE)
    else:
        for _ in range(SESSION_MS // 9_000):
            fixture.clock.advance(9_000)
            rejoined(one, two, rounds=1)
    group = fixture.classic()
    assert (group.generation, group.state) == (epoch, ClassicState.PREPARING_REBALANCE)
    assert sorted(group.members) == sorted([one.member_id, two.member_id])
    rejoined(one, two)
    assert one.owned | two.owned == {("t", 0), ("t", 1), ("t", 2)}
    assert not one.owned & two.owned
    assert fixture.classic().state is ClassicState.STABLE


def test_the_log_has_the_classic_group_alone(fixture: ConsumerGroupFixture) -> None:
    one = ClassicConsumer(fixture)
    mixed(fixture, one)
    fixture.commit({("t", 0): 7}, "new", fixture.epochs["new"])
    fixture.beat("new", -1)
    fixture.restart()
    group = fixture.classic()
    assert (group.state, list(group.members)) == (ClassicState.PREPARING_REBALANCE, [one.member_id])
    assert fixture.fetch() == {("t", 0): 7}
    rejoined(one)
    assert one.owned == {("t", 0), ("t", 1), ("t", 2)}


def test_while_another_member_uses_the_protocol_the_group_stays(fixture: ConsumerGroupFixture) -> None:
    one = ClassicConsumer(fixture)
    mixed(fixture, one)
    fixture.enter("newer")
    fixture.beat("new", -1)
    assert isinstance(fixture.either(), ConsumerGroup)
    fixture.leave("newer", one.member_id)
    assert isinstance(fixture.either(), ConsumerGroup), "nobody is left"


@pytest.mark.parametrize("policy", MigrationPolicy)
def test_the_policy_decides(policy: MigrationPolicy) -> None:
    fixture = ConsumerGroupFixture(
        with_defaults(GroupCoordinatorConfig, consumer=with_defaults(ConsumerGroupConfig, migration=policy))
    )
    one = ClassicConsumer(fixture)
    mixed(fixture, one)
    fixture.beat("new", -1)
    assert isinstance(fixture.either(), ClassicGroup) is policy.may_downgrade


def test_a_group_too_large_for_a_classic_one_stays() -> None:
    fixture = ConsumerGroupFixture(with_defaults(GroupCoordinatorConfig, max_size=1))
    one, two = ClassicConsumer(fixture), ClassicConsumer(fixture)
    mixed(fixture, one, two)
    fixture.beat("new", -1)
    assert isinstance(fixture.either(), ConsumerGroup)


def test_a_static_member_comes_back_with_the_classic_protocol_and_its_partitions(
    fixture: ConsumerGroupFixture,
) -> None:
    fixture.enter("new", instance_id="one")
    two = ClassicConsumer(fixture)
    rejoined(two)
    fixture.settle("new")
    rejoined(two)
    mine = {("t", index) for index in fixture.owned("new")["t"]}
    fixture.beat("new", -2, instance_id="one")
    one = ClassicConsumer(fixture, instance_id="one", eager=True)
    epoch = fixture.consumers().group_epoch
    rejoined(one, rounds=3)
    group = fixture.classic()
    assert (group.state, group.generation) == (ClassicState.STABLE, epoch)
    assert one.owned == mine
    rejoined(two)
    assert one.generation == two.generation == epoch


def test_a_static_member_that_comes_back_with_other_topics_has_all_rebalance(
    fixture: ConsumerGroupFixture,
) -> None:
    fixture.enter("new", instance_id="one")
    two = ClassicConsumer(fixture)
    rejoined(two)
    fixture.settle("new")
    rejoined(two)
    one = ClassicConsumer(fixture, "tu", instance_id="one")
    rejoined(one, rounds=1)
    assert fixture.classic().state is ClassicState.PREPARING_REBALANCE
    rejoined(one, two)
    assert fixture.classic().state is ClassicState.STABLE


def test_sessions_of_the_classic_members_go_on(fixture: ConsumerGroupFixture) -> None:
    one = ClassicConsumer(fixture)
    mixed(fixture, one)
    fixture.beat("new", -1)
    fixture.clock.advance(10_000)
    assert fixture.classic().state is ClassicState.EMPTY


def test_an_append_that_fails_leaves_the_consumer_group_as_it_was(fixture: ConsumerGroupFixture) -> None:
    one = ClassicConsumer(fixture)
    mixed(fixture, one)
    fixture.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert fixture.beat("new", -1).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    fixture.log.error = ErrorCode.NONE
    assert isinstance(fixture.either(), ConsumerGroup)
    fixture.clock.advance(9_999)
    assert len(fixture.consumers().members) == 2
    fixture.clock.advance(1)
    assert len(fixture.consumers().members) == 1
