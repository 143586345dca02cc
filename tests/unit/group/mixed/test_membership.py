"""Tests of requests of the classic protocol to a consumer group, and of their answers."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.group.kinds.consumer.member import ConsumerMemberState
from kcompat.group.kinds.consumer.settings import ConsumerGroupConfig, MigrationPolicy
from kcompat.group.requests import JoinAnswer, MemberIdentity
from kcompat.protocol.errors import ErrorCode
from support.classic_consumer import ClassicConsumer
from support.consumer_texts import assigned, subscription
from support.default_settings import with_defaults
from support.group_coordinators import REBALANCE_MS, ConsumerGroupFixture

RANGE = (("range", subscription("t")),)
UNKNOWN, FENCED = ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID
AGAIN = ErrorCode.REBALANCE_IN_PROGRESS


def joined(fixture: ConsumerGroupFixture, member_id: str = "", **fields: str | None) -> JoinAnswer:
    return fixture.join(member_id, protocols=RANGE, **fields).value  # type: ignore[arg-type]


def beside_one(fixture: ConsumerGroupFixture) -> ClassicConsumer:
    """A classic consumer that has its share beside `new`, which uses the consumer protocol."""
    fixture.enter("new")
    one = ClassicConsumer(fixture)
    for _ in range(10):
        one.poll()
        fixture.report("new")
    assert one.is_member
    assert one.owned
    return one


# --- JoinGroup


def test_a_member_joins_at_once_and_leads_nobody(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("new")
    answer = joined(fixture)
    assert answer == JoinAnswer(
        member_id="1", generation=3, protocol_type="consumer", protocol_name="range", leader=""
    )
    member = fixture.consumers().members.get("1")
    assert member is not None
    assert member.classic is not None
    assert (member.classic.session_timeout_ms, member.subscribed_topics) == (10_000, frozenset("t"))


def test_newer_clients_come_back_with_the_id_they_are_given(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("new")
    answer = fixture.join(protocols=RANGE, needs_member_id=True).value
    assert (answer.error, answer.member_id) == (ErrorCode.MEMBER_ID_REQUIRED, "1")
    assert len(fixture.consumers().members) == 1
    assert joined(fixture, "1").generation == 3


def test_an_id_from_elsewhere_is_as_good_as_one_given_here(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("new")
    assert joined(fixture, "stranger").error is ErrorCode.NONE


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
def test_joins_that_are_refused(
    fixture: ConsumerGroupFixture, fields: dict[str, object], error: ErrorCode
) -> None:
    fixture.enter("new")
    assert joined(fixture, instance_id="one").error is ErrorCode.NONE
    appends = fixture.log.appends
    answer = fixture.join(**{"protocols": RANGE, **fields}).value  # type: ignore[arg-type]
    assert (answer.error, answer.generation) == (error, -1)
    assert fixture.log.appends == appends


def test_a_full_group_takes_no_more() -> None:
    fixture = ConsumerGroupFixture(
        with_defaults(GroupCoordinatorConfig, consumer=with_defaults(ConsumerGroupConfig, max_size=1))
    )
    fixture.enter("new")
    assert joined(fixture).error is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_member_that_must_give_up_first_stays_in_its_epoch(fixture: ConsumerGroupFixture) -> None:
    first = ClassicConsumer(fixture, eager=False)
    for _ in range(3):
        first.poll()
    fixture.enter("new")
    first.poll()
    first.poll()
    assert first.joining is not None
    kept = first.joining.value
    member = fixture.consumers().members.get(first.member_id)
    assert member is not None
    assert member.state is ConsumerMemberState.UNREVOKED_PARTITIONS
    assert kept.generation == first.generation == member.member_epoch
    first.poll()
    first.poll()
    assert first.owned < {("t", 0), ("t", 1), ("t", 2)}


def test_patterns_end_with_the_protocol(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("other")
    fixture.enter("new", subscribed_topics=frozenset(), subscribed_regex="t.*", instance_id="i")
    fixture.clock.advance(0)
    assert fixture.consumers().patterns.get("t.*") is not None
    assert joined(fixture, instance_id="i").error is ErrorCode.NONE
    assert fixture.consumers().patterns.get("t.*") is None


def test_who_never_asks_for_its_partitions_is_out(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("new")
    answer = fixture.join(protocols=RANGE, session_timeout_ms=60_000, rebalance_timeout_ms=20_000).value
    fixture.clock.advance(19_999)
    fixture.beat("new")
    assert fixture.consumers().members.get(answer.member_id) is not None
    fixture.clock.advance(1)
    assert fixture.consumers().members.get(answer.member_id) is None


# --- SyncGroup


def test_a_member_is_told_its_partitions_in_the_version_of_its_subscription(
    fixture: ConsumerGroupFixture,
) -> None:
    one = beside_one(fixture)
    answer = fixture.sync(
        one.member_id, one.generation, protocol_type="consumer", protocol_name="range"
    ).value
    assert (answer.error, answer.protocol_type, answer.protocol_name) == (0, "consumer", "range")
    assert assigned(answer.assignment) == one.owned
    old = fixture.join(one.member_id, protocols=(("range", subscription("t", version=0)),)).value
    assert fixture.sync(one.member_id, old.generation).value.assignment[:2] == b"\0\0"


def test_syncs_that_are_refused(fixture: ConsumerGroupFixture) -> None:
    one = beside_one(fixture)
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
        assert fixture.sync(member_id, of, **fields).value.error is error
    fixture.enter("newer")
    assert fixture.sync(one.member_id, generation).value.error is AGAIN


def test_an_empty_group_has_nobody_to_tell(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("new")
    fixture.beat("new", -1)
    assert fixture.sync("x", 1).value.error is UNKNOWN
    assert fixture.heartbeat("x", 1) is UNKNOWN
    (outcome,) = fixture.leave("x").value.members
    assert outcome == (MemberIdentity("x"), UNKNOWN)


# --- Heartbeat


def test_heartbeats_say_when_to_join_again(fixture: ConsumerGroupFixture) -> None:
    one = beside_one(fixture)
    assert fixture.heartbeat(one.member_id, one.generation) is ErrorCode.NONE
    fixture.enter("newer")
    assert fixture.heartbeat(one.member_id, one.generation) is AGAIN
    assert fixture.heartbeat(one.member_id, one.generation + 1) is ErrorCode.ILLEGAL_GENERATION
    assert fixture.heartbeat("x", one.generation) is UNKNOWN
    assert fixture.heartbeat("new", one.generation) is UNKNOWN
    assert fixture.heartbeat(one.member_id, one.generation, instance_id="i") is UNKNOWN


def test_who_waits_for_partitions_of_others_joins_again_once_they_are_free(
    fixture: ConsumerGroupFixture,
) -> None:
    fixture.enter("new")
    one = ClassicConsumer(fixture)
    for _ in range(3):
        one.poll()
    assert one.is_member
    assert not one.owned
    assert fixture.heartbeat(one.member_id, one.generation) is ErrorCode.NONE, "nothing is free yet"
    fixture.report("new")
    fixture.report("new")
    assert fixture.heartbeat(one.member_id, one.generation) is AGAIN
    for _ in range(4):
        one.poll()
    assert len(one.owned) == 1


def test_who_does_not_join_again_in_time_is_out(fixture: ConsumerGroupFixture) -> None:
    one = beside_one(fixture)
    fixture.enter("newer")
    for _ in range(8):
        assert fixture.heartbeat(one.member_id, one.generation) is AGAIN
        fixture.beat("new")
        fixture.beat("newer")
        fixture.clock.advance(7_499)
    assert fixture.consumers().members.get(one.member_id) is not None
    fixture.heartbeat(one.member_id, one.generation)
    fixture.clock.advance(8)
    assert fixture.consumers().members.get(one.member_id) is None


def test_classic_members_among_themselves_have_targets_made() -> None:
    policy = with_defaults(ConsumerGroupConfig, migration=MigrationPolicy.UPGRADE)
    fixture = ConsumerGroupFixture(with_defaults(GroupCoordinatorConfig, consumer=policy))
    one = beside_one(fixture)
    fixture.beat("new", -1)
    for _ in range(4):
        one.poll()
    assert one.owned == {("t", 0), ("t", 1), ("t", 2)}
    fixture.make("t", 4)
    for _ in range(4):
        one.poll()
    assert one.owned == {("t", 0), ("t", 1), ("t", 2), ("t", 3)}
    assert fixture.heartbeat(one.member_id, one.generation) is ErrorCode.NONE


def test_a_session_that_ends(fixture: ConsumerGroupFixture) -> None:
    one = beside_one(fixture)
    fixture.clock.advance(9_999)
    assert fixture.heartbeat(one.member_id, one.generation) is ErrorCode.NONE
    fixture.clock.advance(10_000)
    assert fixture.consumers().members.get(one.member_id) is None


def test_a_member_that_changes_its_protocol_need_not_join_again(fixture: ConsumerGroupFixture) -> None:
    one = beside_one(fixture)
    fixture.enter("newer")
    assert fixture.heartbeat(one.member_id, one.generation) is AGAIN
    assert fixture.enter(one.member_id).error is ErrorCode.NONE
    assert fixture.consumers().classic_members == 0
    fixture.settle("new", "newer", one.member_id)
    for _ in range(12):
        fixture.clock.advance(10_000)
        fixture.settle("new", "newer", one.member_id, rounds=1)
    assert len(fixture.consumers().members) == 3


# --- LeaveGroup


def test_members_leave_and_are_removed_whichever_protocol_they_use(fixture: ConsumerGroupFixture) -> None:
    one = beside_one(fixture)
    fixture.enter("newer")
    static = ClassicConsumer(fixture, instance_id="static")
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
    errors = [error for _, error in fixture.leave(*leaving).value.members]
    assert errors == [UNKNOWN, 0, 0, 0, UNKNOWN, FENCED]
    assert list(fixture.consumers().members.latest) == ["newer"]


# --- offsets


def test_commits_of_a_classic_member_are_judged_by_its_generation(fixture: ConsumerGroupFixture) -> None:
    one = beside_one(fixture)
    (place, *_) = one.owned
    assert fixture.commit({place: 5}, one.member_id, one.generation).value == {place: 0}
    stale = ErrorCode.ILLEGAL_GENERATION
    assert fixture.commit({place: 5}, one.member_id, one.generation + 1).value == {place: stale}


def test_who_joins_while_an_empty_group_gives_way_finds_what_it_has_become(
    fixture: ConsumerGroupFixture,
) -> None:
    """Before the end of the former group is committed, a consumer comes, for whom there is a group again."""
    fixture.enter("m")
    fixture.beat("m", -1)
    fixture.log.hold()
    joining = fixture.join(protocols=RANGE)
    fixture.ask_beat("n", rebalance_timeout_ms=REBALANCE_MS, subscribed_topics=frozenset("t"), owned={})
    fixture.log.release()
    assert joining.value.error is ErrorCode.NONE
    assert joining.value.member_id in fixture.consumers().members.latest
