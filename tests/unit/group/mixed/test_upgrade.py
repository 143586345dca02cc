"""A classic group with members becomes a consumer group when a member comes that uses that protocol."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.group.kinds.classic.group import ClassicGroup
from kcompat.group.kinds.consumer.group import ConsumerGroup
from kcompat.group.kinds.consumer.members import ConsumerState
from kcompat.group.kinds.consumer.settings import ConsumerGroupConfig, MigrationPolicy
from kcompat.protocol.errors import ErrorCode
from support.classic_consumer import ClassicConsumer
from support.consumer_texts import assignment, subscription
from support.default_settings import with_defaults
from support.group_coordinators import GROUP, ConsumerGroupFixture

ALL = frozenset({("t", 0), ("t", 1), ("t", 2)})


def settled(fixture: ConsumerGroupFixture, *consumers: ClassicConsumer, rounds: int = 8) -> None:
    for _ in range(rounds):
        for consumer in consumers:
            consumer.poll()


def with_policy(policy: MigrationPolicy, **fields: int) -> ConsumerGroupFixture:
    config = replace(with_defaults(ConsumerGroupConfig, migration=policy), **fields)
    return ConsumerGroupFixture(with_defaults(GroupCoordinatorConfig, consumer=config))


def test_members_stay_with_what_they_have(fixture: ConsumerGroupFixture) -> None:
    one, two = ClassicConsumer(fixture), ClassicConsumer(fixture)
    settled(fixture, one, two)
    generation = fixture.classic().generation
    answer = fixture.enter("new")
    assert (answer.error, answer.member_epoch, answer.assigned) == (ErrorCode.NONE, generation + 1, {})
    group = fixture.consumers()
    assert group.state is ConsumerState.RECONCILING
    assert group.classic_members == 2
    held = {
        member.member_id: {(topic_id, index) for topic_id, index in member.held()}
        for member in group.members.latest.values()
    }
    assert sorted(map(len, held.values())) == [0, 1, 2]
    assert {m.member_epoch for m in group.members.latest.values() if m.classic} == {generation}


def test_all_share_the_partitions_in_the_end(fixture: ConsumerGroupFixture) -> None:
    one, two = ClassicConsumer(fixture), ClassicConsumer(fixture, eager=True)
    settled(fixture, one, two)
    fixture.enter("new")
    for _ in range(8):
        settled(fixture, one, two, rounds=1)
        fixture.report("new")
    assert one.owned | two.owned | {("t", i) for i in fixture.owned("new").get("t", ())} == ALL
    assert len(one.owned) == len(two.owned) == 1
    assert fixture.consumers().state is ConsumerState.STABLE


def test_who_waits_in_a_join_or_a_sync_is_told_to_join_again(fixture: ConsumerGroupFixture) -> None:
    one = ClassicConsumer(fixture)
    settled(fixture, one)
    waiting = ClassicConsumer(fixture)
    waiting.join()
    assert waiting.joining is not None
    assert not waiting.joining.done
    fixture.enter("new")
    assert waiting.joining.value.error is ErrorCode.REBALANCE_IN_PROGRESS


def test_who_waits_for_its_assignment_is_told_to_join_again(fixture: ConsumerGroupFixture) -> None:
    joins = [fixture.join(protocols=(("range", subscription("t")),)) for _ in range(2)]
    first = fixture.join(joins[0].value.member_id, protocols=(("range", subscription("t")),)).value
    sync = fixture.sync(joins[1].value.member_id, first.generation)
    assert not sync.done
    fixture.enter("new")
    assert sync.value.error is ErrorCode.REBALANCE_IN_PROGRESS


def test_nothing_of_the_classic_group_is_left_behind(fixture: ConsumerGroupFixture) -> None:
    one = ClassicConsumer(fixture)
    settled(fixture, one)
    fixture.commit({("t", 0): 7}, one.member_id, one.generation)
    fixture.enter("new")
    assert isinstance(fixture.either(), ConsumerGroup)
    fixture.restart()
    assert isinstance(fixture.either(), ConsumerGroup)
    assert fixture.fetch() == {("t", 0): 7}
    assert fixture.consumers().members.get(one.member_id) is not None


def test_sessions_go_on_as_the_classic_member_said(fixture: ConsumerGroupFixture) -> None:
    one = ClassicConsumer(fixture)
    settled(fixture, one)
    fixture.enter("new")
    fixture.clock.advance(9_999)
    assert fixture.consumers().members.get(one.member_id) is not None
    fixture.clock.advance(1)
    assert fixture.consumers().members.get(one.member_id) is None


def test_a_static_member_changes_its_protocol_in_place(fixture: ConsumerGroupFixture) -> None:
    one, two = ClassicConsumer(fixture, instance_id="one"), ClassicConsumer(fixture)
    settled(fixture, one, two)
    mine = one.owned
    answer = fixture.enter("new", instance_id="one")
    assert answer.error is ErrorCode.NONE
    assert len(fixture.consumers().members) == 2
    assert fixture.owned("new") == {"t": sorted(index for _, index in mine)}
    assert fixture.heartbeat(one.member_id, one.generation, instance_id="one") is ErrorCode.FENCED_INSTANCE_ID


def test_a_group_that_was_rebalancing_shares_out_anew_whatever_changes(fixture: ConsumerGroupFixture) -> None:
    one = ClassicConsumer(fixture, instance_id="one")
    one.join()
    answer = fixture.enter("new", instance_id="one")
    assert (answer.error, answer.member_epoch) == (ErrorCode.NONE, 2)
    assert fixture.owned("new") == {"t": [0, 1, 2]}


def test_partitions_without_an_owner_are_assigned_by_the_upgrade(fixture: ConsumerGroupFixture) -> None:
    one = ClassicConsumer(fixture, instance_id="one")
    settled(fixture, one)
    fixture.make("t", 4)
    assert fixture.enter("new", instance_id="one").error is ErrorCode.NONE
    assert fixture.owned("new") == {"t": [0, 1, 2, 3]}


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
    fixture = with_policy(policy)
    one = ClassicConsumer(fixture)
    settled(fixture, one)
    answer = fixture.enter("new")
    assert answer.error is error
    if error is not ErrorCode.NONE:
        assert answer.message == (
            f"Cannot upgrade classic group {GROUP} to consumer group because online upgrade is disabled."
        )
        assert isinstance(fixture.either(), ClassicGroup)


def test_a_group_of_others_than_consumers_is_left_alone(fixture: ConsumerGroupFixture) -> None:
    fixture.join(protocol_type="connect")
    answer = fixture.enter("new")
    assert answer.error is ErrorCode.GROUP_ID_NOT_FOUND
    assert "does not use the consumer embedded protocol" in (answer.message or "")


def test_a_group_that_is_too_large_is_left_alone() -> None:
    fixture = with_policy(MigrationPolicy.BIDIRECTIONAL, max_size=1)
    one, two = ClassicConsumer(fixture), ClassicConsumer(fixture)
    settled(fixture, one, two)
    answer = fixture.enter("new")
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
    fixture: ConsumerGroupFixture, told: bytes, given: bytes, message: str
) -> None:
    joined = fixture.join(protocols=(("range", told),)).value
    fixture.sync(joined.member_id, joined.generation, {joined.member_id: given})
    answer = fixture.enter("new")
    assert answer.error is ErrorCode.GROUP_ID_NOT_FOUND
    assert message in (answer.message or "")
    assert fixture.heartbeat(joined.member_id, joined.generation) is ErrorCode.NONE


def test_a_heartbeat_that_is_refused_upgrades_nothing(fixture: ConsumerGroupFixture) -> None:
    one = ClassicConsumer(fixture)
    settled(fixture, one)
    answer = fixture.enter("new", subscribed_topics=None, subscribed_regex="(")
    assert answer.error is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert fixture.heartbeat(one.member_id, one.generation) is ErrorCode.NONE
    assert isinstance(fixture.either(), ClassicGroup)


def test_an_append_that_fails_leaves_the_classic_group_as_it_was(fixture: ConsumerGroupFixture) -> None:
    one = ClassicConsumer(fixture)
    settled(fixture, one)
    waiting = ClassicConsumer(fixture)
    waiting.join()
    fixture.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert fixture.enter("new").error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    fixture.log.error = ErrorCode.NONE
    assert isinstance(fixture.either(), ClassicGroup)
    settled(fixture, one, waiting)
    assert len(one.owned) + len(waiting.owned) == 3
