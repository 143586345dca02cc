"""What classic members ask of a consumer group, and what they are told."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.group.kinds.consumer.member import MemberState
from kcompat.group.mixed.policy import MigrationPolicy
from kcompat.group.modern.settings import ConsumerGroupConfig
from kcompat.group.requests import JoinAnswer, MemberIdentity
from kcompat.protocol.errors import ErrorCode
from support.consumer_group_world import REBALANCE_MS
from support.consumer_texts import assigned, subscription
from support.mixed_group_world import ClassicConsumer, MixedGroupWorld

RANGE = (("range", subscription("t")),)
UNKNOWN, FENCED = ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID
AGAIN = ErrorCode.REBALANCE_IN_PROGRESS


def joined(world: MixedGroupWorld, member_id: str = "", **fields: str | None) -> JoinAnswer:
    return world.join(member_id, protocols=RANGE, **fields).value  # type: ignore[arg-type]


def beside_one(world: MixedGroupWorld) -> ClassicConsumer:
    """A classic consumer that has its share beside `new`, which uses the consumer protocol."""
    world.enter("new")
    one = ClassicConsumer(world)
    for _ in range(10):
        one.poll()
        world.report("new")
    assert one.is_member
    assert one.owned
    return one


# --- JoinGroup


def test_a_member_joins_at_once_and_leads_nobody(world: MixedGroupWorld) -> None:
    world.enter("new")
    answer = joined(world)
    assert answer == JoinAnswer(
        member_id="1", generation=3, protocol_type="consumer", protocol_name="range", leader=""
    )
    member = world.consumers().members.get("1")
    assert member is not None
    assert member.classic is not None
    assert (member.classic.session_timeout_ms, member.subscribed_topics) == (10_000, frozenset("t"))


def test_newer_clients_come_back_with_the_id_they_are_given(world: MixedGroupWorld) -> None:
    world.enter("new")
    answer = world.join(protocols=RANGE, needs_member_id=True).value
    assert (answer.error, answer.member_id) == (ErrorCode.MEMBER_ID_REQUIRED, "1")
    assert len(world.consumers().members) == 1
    assert joined(world, "1").generation == 3


def test_an_id_from_elsewhere_is_as_good_as_one_given_here(world: MixedGroupWorld) -> None:
    world.enter("new")
    assert joined(world, "stranger").error is ErrorCode.NONE


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": ()}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": (("roundrobin", subscription("t")),)}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": (("range", b""),)}, ErrorCode.UNKNOWN_SERVER_ERROR),
        ({"session_timeout_ms": 1}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"member_id": "2", "instance_id": "i"}, UNKNOWN),
        ({"member_id": "2", "instance_id": "one"}, FENCED),
    ],
)
def test_joins_that_are_refused(world: MixedGroupWorld, fields: dict[str, object], error: ErrorCode) -> None:
    world.enter("new")
    assert joined(world, instance_id="one").error is ErrorCode.NONE
    appends = world.log.appends
    answer = world.join(**{"protocols": RANGE, **fields}).value  # type: ignore[arg-type]
    assert (answer.error, answer.generation) == (error, -1)
    assert world.log.appends == appends


def test_a_full_group_takes_no_more() -> None:
    world = MixedGroupWorld(GroupCoordinatorConfig(consumer=ConsumerGroupConfig(max_size=1)))
    world.enter("new")
    assert joined(world).error is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_member_that_must_give_up_first_stays_in_its_epoch(world: MixedGroupWorld) -> None:
    first = ClassicConsumer(world, eager=False)
    for _ in range(3):
        first.poll()
    world.enter("new")
    first.poll()
    first.poll()
    assert first.joining is not None
    kept = first.joining.value
    member = world.consumers().members.get(first.member_id)
    assert member is not None
    assert member.state is MemberState.UNREVOKED_PARTITIONS
    assert kept.generation == first.generation == member.member_epoch
    first.poll()
    first.poll()
    assert first.owned < {("t", 0), ("t", 1), ("t", 2)}


def test_patterns_end_with_the_protocol(world: MixedGroupWorld) -> None:
    world.enter("other")
    world.enter("new", subscribed_topics=frozenset(), subscribed_regex="t.*", instance_id="i")
    world.clock.advance(0)
    assert world.consumers().patterns.get("t.*") is not None
    assert joined(world, instance_id="i").error is ErrorCode.NONE
    assert world.consumers().patterns.get("t.*") is None


def test_who_never_asks_for_its_partitions_is_out(world: MixedGroupWorld) -> None:
    world.enter("new")
    answer = world.join(protocols=RANGE, session_timeout_ms=60_000, rebalance_timeout_ms=20_000).value
    world.clock.advance(19_999)
    world.beat("new")
    assert world.consumers().members.get(answer.member_id) is not None
    world.clock.advance(1)
    assert world.consumers().members.get(answer.member_id) is None


# --- SyncGroup


def test_a_member_is_told_its_partitions_in_the_version_of_its_subscription(
    world: MixedGroupWorld,
) -> None:
    one = beside_one(world)
    answer = world.sync(one.member_id, one.generation, protocol_type="consumer", protocol_name="range").value
    assert (answer.error, answer.protocol_type, answer.protocol_name) == (0, "consumer", "range")
    assert assigned(answer.assignment) == one.owned
    old = world.join(one.member_id, protocols=(("range", subscription("t", version=0)),)).value
    assert world.sync(one.member_id, old.generation).value.assignment[:2] == b"\0\0"


def test_syncs_that_are_refused(world: MixedGroupWorld) -> None:
    one = beside_one(world)
    generation = one.generation
    mine = {"protocol_type": "consumer", "protocol_name": "range"}
    refused: tuple[tuple[str, int, dict[str, Any], ErrorCode], ...] = (
        ("x", generation, {}, UNKNOWN),
        ("new", generation, {}, UNKNOWN),
        (one.member_id, generation - 1, {}, ErrorCode.ILLEGAL_GENERATION),
        (one.member_id, generation, {"instance_id": "i"}, UNKNOWN),
        (one.member_id, generation, mine | {"protocol_type": "x"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (one.member_id, generation, mine | {"protocol_name": "x"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    )
    for member_id, of, fields, error in refused:
        assert world.sync(member_id, of, **fields).value.error is error
    world.enter("newer")
    assert world.sync(one.member_id, generation).value.error is AGAIN


def test_an_empty_group_has_nobody_to_tell(world: MixedGroupWorld) -> None:
    world.enter("new")
    world.beat("new", -1)
    assert world.sync("x", 1).value.error is UNKNOWN
    assert world.heartbeat("x", 1) is UNKNOWN
    (outcome,) = world.leave("x").value.members
    assert outcome == (MemberIdentity("x"), UNKNOWN)


# --- Heartbeat


def test_heartbeats_say_when_to_join_again(world: MixedGroupWorld) -> None:
    one = beside_one(world)
    assert world.heartbeat(one.member_id, one.generation) is ErrorCode.NONE
    world.enter("newer")
    assert world.heartbeat(one.member_id, one.generation) is AGAIN
    assert world.heartbeat(one.member_id, one.generation + 1) is ErrorCode.ILLEGAL_GENERATION
    assert world.heartbeat("x", one.generation) is UNKNOWN
    assert world.heartbeat("new", one.generation) is UNKNOWN
    assert world.heartbeat(one.member_id, one.generation, instance_id="i") is UNKNOWN


def test_who_waits_for_partitions_of_others_joins_again_once_they_are_free(
    world: MixedGroupWorld,
) -> None:
    world.enter("new")
    one = ClassicConsumer(world)
    for _ in range(3):
        one.poll()
    assert one.is_member
    assert not one.owned
    assert world.heartbeat(one.member_id, one.generation) is ErrorCode.NONE, "nothing is free yet"
    world.report("new")
    world.report("new")
    assert world.heartbeat(one.member_id, one.generation) is AGAIN
    for _ in range(4):
        one.poll()
    assert len(one.owned) == 1


def test_who_does_not_join_again_in_time_is_out(world: MixedGroupWorld) -> None:
    one = beside_one(world)
    world.enter("newer")
    for _ in range(8):
        assert world.heartbeat(one.member_id, one.generation) is AGAIN
        world.beat("new")
        world.beat("newer")
        world.clock.advance(7_499)
    assert world.consumers().members.get(one.member_id) is not None
    world.heartbeat(one.member_id, one.generation)
    world.clock.advance(8)
    assert world.consumers().members.get(one.member_id) is None


def test_classic_members_among_themselves_have_targets_made() -> None:
    policy = ConsumerGroupConfig(migration=MigrationPolicy.UPGRADE)
    world = MixedGroupWorld(GroupCoordinatorConfig(consumer=policy))
    one = beside_one(world)
    world.beat("new", -1)
    for _ in range(4):
        one.poll()
    assert one.owned == {("t", 0), ("t", 1), ("t", 2)}
    world.make("t", 4)
    for _ in range(4):
        one.poll()
    assert one.owned == {("t", 0), ("t", 1), ("t", 2), ("t", 3)}
    assert world.heartbeat(one.member_id, one.generation) is ErrorCode.NONE


def test_a_session_that_ends(world: MixedGroupWorld) -> None:
    one = beside_one(world)
    world.clock.advance(9_999)
    assert world.heartbeat(one.member_id, one.generation) is ErrorCode.NONE
    world.clock.advance(10_000)
    assert world.consumers().members.get(one.member_id) is None


def test_a_member_that_changes_its_protocol_need_not_join_again(world: MixedGroupWorld) -> None:
    one = beside_one(world)
    world.enter("newer")
    assert world.heartbeat(one.member_id, one.generation) is AGAIN
    assert world.enter(one.member_id).error is ErrorCode.NONE
    assert world.consumers().classic_members == 0
    world.settle("new", "newer", one.member_id)
    for _ in range(12):
        world.clock.advance(10_000)
        world.settle("new", "newer", one.member_id, rounds=1)
    assert len(world.consumers().members) == 3


# --- LeaveGroup


def test_members_leave_and_are_removed_whichever_protocol_they_use(world: MixedGroupWorld) -> None:
    one = beside_one(world)
    world.enter("newer")
    static = ClassicConsumer(world, instance_id="static")
    static.poll()
    static.poll()
    leaving = (
        MemberIdentity("x"),
        MemberIdentity(one.member_id),
        MemberIdentity("new"),
        MemberIdentity("", "static"),
        MemberIdentity("", "nobody"),
        MemberIdentity("x", "static"),
    )
    errors = [error for _, error in world.leave(*leaving).value.members]
    assert errors == [UNKNOWN, 0, 0, 0, UNKNOWN, FENCED]
    assert list(world.consumers().members.latest) == ["newer"]


# --- offsets


def test_commits_of_a_classic_member_are_judged_by_its_generation(world: MixedGroupWorld) -> None:
    one = beside_one(world)
    (place, *_) = one.owned
    assert world.commit({place: 5}, one.member_id, one.generation).value == {place: 0}
    stale = ErrorCode.ILLEGAL_GENERATION
    assert world.commit({place: 5}, one.member_id, one.generation + 1).value == {place: stale}


def test_who_joins_while_an_empty_group_gives_way_finds_what_it_has_become(world: MixedGroupWorld) -> None:
    """Before the end of the former group is committed, a consumer comes, for whom there is a group again."""
    world.enter("m")
    world.beat("m", -1)
    world.log.hold()
    joining = world.join(protocols=RANGE)
    world.ask_beat("n", rebalance_timeout_ms=REBALANCE_MS, subscribed_topics=frozenset("t"), owned={})
    world.log.release()
    assert joining.value.error is ErrorCode.NONE
    assert joining.value.member_id in world.consumers().members.latest
