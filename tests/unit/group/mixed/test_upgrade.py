"""A classic group with members becomes a consumer group when a member comes that uses that protocol."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.group.kinds.classic.group import ClassicGroup
from kcompat.group.kinds.consumer.group import ConsumerGroup
from kcompat.group.kinds.consumer.roster import ConsumerState
from kcompat.group.mixed.policy import MigrationPolicy
from kcompat.group.modern.settings import ConsumerGroupConfig
from kcompat.protocol.errors import ErrorCode
from support.consumer_texts import assignment, subscription
from support.group_world import GROUP
from support.mixed_group_world import ClassicConsumer, MixedGroupWorld

ALL = frozenset({("t", 0), ("t", 1), ("t", 2)})


def settled(world: MixedGroupWorld, *consumers: ClassicConsumer, rounds: int = 8) -> None:
    for _ in range(rounds):
        for consumer in consumers:
            consumer.poll()


def with_policy(policy: MigrationPolicy, **fields: int) -> MixedGroupWorld:
    config = replace(ConsumerGroupConfig(migration=policy), **fields)
    return MixedGroupWorld(GroupCoordinatorConfig(consumer=config))


def test_members_stay_with_what_they_have(world: MixedGroupWorld) -> None:
    one, two = ClassicConsumer(world), ClassicConsumer(world)
    settled(world, one, two)
    generation = world.classic().generation
    answer = world.enter("new")
    assert (answer.error, answer.member_epoch, answer.assigned) == (ErrorCode.NONE, generation + 1, {})
    group = world.consumers()
    assert group.state is ConsumerState.RECONCILING
    assert group.classic_members == 2
    held = {
        member.member_id: {(topic_id, index) for topic_id, index in member.held()}
        for member in group.members.latest.values()
    }
    assert sorted(map(len, held.values())) == [0, 1, 2]
    assert {m.member_epoch for m in group.members.latest.values() if m.classic} == {generation}


def test_all_share_the_partitions_in_the_end(world: MixedGroupWorld) -> None:
    one, two = ClassicConsumer(world), ClassicConsumer(world, eager=True)
    settled(world, one, two)
    world.enter("new")
    for _ in range(8):
        settled(world, one, two, rounds=1)
        world.report("new")
    assert one.owned | two.owned | {("t", i) for i in world.owned("new").get("t", ())} == ALL
    assert len(one.owned) == len(two.owned) == 1
    assert world.consumers().state is ConsumerState.STABLE


def test_who_waits_in_a_join_or_a_sync_is_told_to_join_again(world: MixedGroupWorld) -> None:
    one = ClassicConsumer(world)
    settled(world, one)
    waiting = ClassicConsumer(world)
    waiting.join()
    assert waiting.joining is not None
    assert not waiting.joining.done
    world.enter("new")
    assert waiting.joining.value.error is ErrorCode.REBALANCE_IN_PROGRESS


def test_who_waits_for_its_assignment_is_told_to_join_again(world: MixedGroupWorld) -> None:
    joins = [world.join(protocols=(("range", subscription("t")),)) for _ in range(2)]
    first = world.join(joins[0].value.member_id, protocols=(("range", subscription("t")),)).value
    sync = world.sync(joins[1].value.member_id, first.generation)
    assert not sync.done
    world.enter("new")
    assert sync.value.error is ErrorCode.REBALANCE_IN_PROGRESS


def test_nothing_of_the_classic_group_is_left_behind(world: MixedGroupWorld) -> None:
    one = ClassicConsumer(world)
    settled(world, one)
    world.commit({("t", 0): 7}, one.member_id, one.generation)
    world.enter("new")
    assert isinstance(world.held(), ConsumerGroup)
    world.restart()
    assert isinstance(world.held(), ConsumerGroup)
    assert world.fetch() == {("t", 0): 7}
    assert world.consumers().members.get(one.member_id) is not None


def test_sessions_go_on_as_the_classic_member_said(world: MixedGroupWorld) -> None:
    one = ClassicConsumer(world)
    settled(world, one)
    world.enter("new")
    world.clock.advance(9_999)
    assert world.consumers().members.get(one.member_id) is not None
    world.clock.advance(1)
    assert world.consumers().members.get(one.member_id) is None


def test_a_static_member_changes_its_protocol_in_place(world: MixedGroupWorld) -> None:
    one, two = ClassicConsumer(world, instance_id="one"), ClassicConsumer(world)
    settled(world, one, two)
    mine = one.owned
    answer = world.enter("new", instance_id="one")
    assert answer.error is ErrorCode.NONE
    assert len(world.consumers().members) == 2
    assert world.owned("new") == {"t": sorted(index for _, index in mine)}
    assert world.heartbeat(one.member_id, one.generation, instance_id="one") is ErrorCode.FENCED_INSTANCE_ID


def test_a_group_that_was_rebalancing_shares_out_anew_whatever_changes(world: MixedGroupWorld) -> None:
    one = ClassicConsumer(world, instance_id="one")
    one.join()
    answer = world.enter("new", instance_id="one")
    assert (answer.error, answer.member_epoch) == (ErrorCode.NONE, 2)
    assert world.owned("new") == {"t": [0, 1, 2]}


@pytest.mark.parametrize(
    ("policy", "error"),
    [
        (MigrationPolicy.DISABLED, ErrorCode.GROUP_ID_NOT_FOUND),
        (MigrationPolicy.DOWNGRADE, ErrorCode.GROUP_ID_NOT_FOUND),
        (MigrationPolicy.UPGRADE, ErrorCode.NONE),
        (MigrationPolicy.BIDIRECTIONAL, ErrorCode.NONE),
    ],
)
def test_the_policy_decides(policy: MigrationPolicy, error: ErrorCode) -> None:
    world = with_policy(policy)
    one = ClassicConsumer(world)
    settled(world, one)
    answer = world.enter("new")
    assert answer.error is error
    if error is not ErrorCode.NONE:
        assert answer.message == (
            f"Cannot upgrade classic group {GROUP} to consumer group because online upgrade is disabled."
        )
        assert isinstance(world.held(), ClassicGroup)


def test_a_group_of_others_than_consumers_is_left_alone(world: MixedGroupWorld) -> None:
    world.join(protocol_type="connect")
    answer = world.enter("new")
    assert answer.error is ErrorCode.GROUP_ID_NOT_FOUND
    assert "does not use the consumer embedded protocol" in (answer.message or "")


def test_a_group_that_is_too_large_is_left_alone() -> None:
    world = with_policy(MigrationPolicy.BIDIRECTIONAL, max_size=1)
    one, two = ClassicConsumer(world), ClassicConsumer(world)
    settled(world, one, two)
    answer = world.enter("new")
    assert answer.error is ErrorCode.GROUP_ID_NOT_FOUND
    assert "exceeds the consumer group maximum size" in (answer.message or "")


@pytest.mark.parametrize(
    ("told", "given", "message"),
    [
        (b"", assignment(ALL), "malformed"),
        (b"\0\1\0\0", assignment(ALL), "malformed"),
        (subscription("t"), b"\0\0\0", "malformed"),
        (subscription("t"), assignment(ALL, user_data=b"x"), "unsupported custom assignor"),
    ],
)
def test_what_cannot_be_read_is_left_alone(
    world: MixedGroupWorld, told: bytes, given: bytes, message: str
) -> None:
    joined = world.join(protocols=(("range", told),)).value
    world.sync(joined.member_id, joined.generation, {joined.member_id: given})
    answer = world.enter("new")
    assert answer.error is ErrorCode.GROUP_ID_NOT_FOUND
    assert message in (answer.message or "")
    assert world.heartbeat(joined.member_id, joined.generation) is ErrorCode.NONE


def test_a_heartbeat_that_is_refused_upgrades_nothing(world: MixedGroupWorld) -> None:
    one = ClassicConsumer(world)
    settled(world, one)
    answer = world.enter("new", subscribed_topics=None, subscribed_regex="(")
    assert answer.error is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert world.heartbeat(one.member_id, one.generation) is ErrorCode.NONE
    assert isinstance(world.held(), ClassicGroup)


def test_an_append_that_fails_leaves_the_classic_group_as_it_was(world: MixedGroupWorld) -> None:
    one = ClassicConsumer(world)
    settled(world, one)
    waiting = ClassicConsumer(world)
    waiting.join()
    world.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.enter("new").error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.log.error = ErrorCode.NONE
    assert isinstance(world.held(), ClassicGroup)
    settled(world, one, waiting)
    assert len(one.owned) + len(waiting.owned) == 3
