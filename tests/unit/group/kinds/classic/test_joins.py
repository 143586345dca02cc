"""JoinGroup on the classic machine, one literal story a test."""

from __future__ import annotations

import pytest

from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.group.kinds.classic.rebalance import WAIT_FOR_EXPECTED_MS
from kcompat.group.requests import JoinAnswer, JoinedMember
from kcompat.protocol.errors import ErrorCode
from support.asking import Client
from support.default_settings import with_defaults
from support.group_coordinators import GROUP, GroupFixture


def test_the_first_member_leads_generation_one(fixture: GroupFixture) -> None:
    assert fixture.join().value == JoinAnswer(
        member_id="client-1",
        generation=1,
        protocol_type="consumer",
        protocol_name="range",
        leader="client-1",
        members=(JoinedMember("client-1", None, b"meta"),),
    )
    assert fixture.describe_state() == "CompletingRebalance"


def test_a_second_member_waits_for_the_first_to_join_again(fixture: GroupFixture) -> None:
    fixture.stable("a")
    second = fixture.join(client_id="b")
    assert not second.done
    assert fixture.heartbeat("a-1", 1) == ErrorCode.REBALANCE_IN_PROGRESS
    first = fixture.join("a-1").value
    assert (first.generation, second.value.generation) == (2, 2)
    assert {member.member_id for member in first.members} == {"a-1", "b-2"}
    assert second.value.members == ()
    assert second.value.leader == "a-1"


def test_new_clients_are_given_an_id_and_come_back_with_it(fixture: GroupFixture) -> None:
    answer = fixture.join(needs_member_id=True).value
    assert answer == JoinAnswer(ErrorCode.MEMBER_ID_REQUIRED, member_id="client-1")
    assert fixture.describe_state() == "Empty"
    assert fixture.join("client-1", needs_member_id=True).value.generation == 1


def test_an_id_that_was_handed_out_holds_the_next_generation_back(fixture: GroupFixture) -> None:
    fixture.stable("a")
    fixture.join(client_id="b", needs_member_id=True)
    rejoined = fixture.join("a-1")
    assert not rejoined.done
    second = fixture.join("b-2", needs_member_id=True)
    assert second.value.generation == rejoined.value.generation == 2


def test_an_id_that_was_handed_out_lasts_for_its_session_timeout(fixture: GroupFixture) -> None:
    fixture.stable("a", session_timeout_ms=60_000)
    fixture.join(client_id="b", needs_member_id=True, session_timeout_ms=6_000)
    rejoined = fixture.join("a-1")
    fixture.clock.advance(6_000)
    assert rejoined.value.generation == 2
    assert fixture.join("b-2").value.error == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(("timeout", "accepted"), [(5_999, False), (6_000, True), (1_800_001, False)])
def test_session_timeouts_have_limits(fixture: GroupFixture, timeout: int, accepted: bool) -> None:
    answer = fixture.join(session_timeout_ms=timeout).value
    assert answer.error == (ErrorCode.NONE if accepted else ErrorCode.INVALID_SESSION_TIMEOUT)


def test_a_member_id_is_worth_nothing_without_its_group(fixture: GroupFixture) -> None:
    answer = fixture.join("client-9").value
    assert answer == JoinAnswer(ErrorCode.UNKNOWN_MEMBER_ID, member_id="client-9")
    assert fixture.group() is None


def test_a_group_needs_a_name(fixture: GroupFixture) -> None:
    assert fixture.join(group_id="").value.error == ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize(
    ("protocol_type", "protocols"),
    [("", (("range", b""),)), ("consumer", ())],
)
def test_a_first_member_must_bring_a_type_and_a_protocol(
    fixture: GroupFixture, protocol_type: str, protocols: tuple[tuple[str, bytes], ...]
) -> None:
    answer = fixture.join(protocol_type=protocol_type, protocols=protocols).value
    assert answer.error == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert fixture.describe_state() == "Empty"  # what a refused member leaves behind


@pytest.mark.parametrize(
    ("protocol_type", "protocol"), [("connect", "range"), ("consumer", "cooperative-sticky")]
)
def test_a_member_must_share_type_and_protocol(
    fixture: GroupFixture, protocol_type: str, protocol: str
) -> None:
    fixture.stable("a")
    answer = fixture.join(protocol_type=protocol_type, protocols=((protocol, b""),)).value
    assert answer.error == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert fixture.describe_state() == "Stable"


def test_the_protocol_is_voted_for_among_what_all_support(fixture: GroupFixture) -> None:
    lists = [("range", "sticky"), ("sticky", "range"), ("sticky", "other", "range")]
    protocols = [tuple((name, name.encode()) for name in names) for names in lists]
    first = fixture.join(client_id="a", protocols=protocols[0]).value
    joins = [fixture.join(client_id=client, protocols=protocols[i]) for i, client in ((1, "b"), (2, "c"))]
    answer = fixture.join(first.member_id, client_id="a", protocols=protocols[0]).value
    assert answer.protocol_name == "sticky"
    assert [member.metadata for member in answer.members] == [b"sticky"] * 3
    assert all(join.value.protocol_name == "sticky" for join in joins)


def test_the_initial_delay_collects_members_and_grows_with_each(fixture: GroupFixture) -> None:
    fixture = GroupFixture(with_defaults(GroupCoordinatorConfig, initial_rebalance_delay_ms=3000))
    first = fixture.join(client_id="a")
    fixture.clock.advance(2000)
    second = fixture.join(client_id="b")
    fixture.clock.advance(1000)
    assert not first.done
    fixture.clock.advance(2999)
    assert not first.done
    fixture.clock.advance(1)
    assert first.value.generation == second.value.generation == 1


def test_the_first_member_waits_for_others_that_are_known_to_come(fixture: GroupFixture) -> None:
    """Without a delay that is configured."""
    for _ in range(3):
        fixture.coordinator.note_find_coordinator(Client(), GROUP)
    first = fixture.join(client_id="a")
    fixture.clock.advance(WAIT_FOR_EXPECTED_MS - 1)
    second = fixture.join(client_id="b")
    fixture.clock.advance(1)
    third = fixture.join(client_id="c")
    fixture.clock.advance(WAIT_FOR_EXPECTED_MS)
    assert not first.done, "the third came in the second round"
    fixture.clock.advance(WAIT_FOR_EXPECTED_MS)
    assert [join.value.generation for join in (first, second, third)] == [1, 1, 1]


def test_the_first_member_waits_for_nobody_where_none_is_known_to_come(fixture: GroupFixture) -> None:
    fixture.coordinator.note_find_coordinator(Client(), GROUP)
    fixture.coordinator.note_find_coordinator(Client(), "another")
    assert fixture.join(client_id="a").value.generation == 1


def test_a_member_that_gets_its_id_first_waits_for_the_others_with_it(fixture: GroupFixture) -> None:
    for _ in range(2):
        fixture.coordinator.note_find_coordinator(Client(), GROUP)
    handed_out = fixture.join(needs_member_id=True).value
    first = fixture.join(handed_out.member_id, needs_member_id=True)
    assert not first.done
    fixture.clock.advance(WAIT_FOR_EXPECTED_MS)
    assert first.value.generation == 1


def test_the_initial_delay_ends_with_the_rebalance_timeout() -> None:
    fixture = GroupFixture(with_defaults(GroupCoordinatorConfig, initial_rebalance_delay_ms=3000))
    joins = [fixture.join(client_id="first", rebalance_timeout_ms=7000)]
    for number in range(6):
        fixture.clock.advance(1000)
        joins.append(fixture.join(client_id=str(number), rebalance_timeout_ms=7000))
    fixture.clock.advance(999)
    assert not any(join.done for join in joins)
    fixture.clock.advance(1)
    assert all(join.value.generation == 1 for join in joins)


def test_a_follower_that_joins_again_unchanged_is_told_of_its_generation(fixture: GroupFixture) -> None:
    _, follower = fixture.stable("a", "b")
    answer = fixture.join(follower).value
    assert (answer.generation, answer.members) == (2, ())
    assert fixture.describe_state() == "Stable"


def test_a_leader_that_joins_again_starts_a_rebalance(fixture: GroupFixture) -> None:
    leader, _ = fixture.stable("a", "b")
    assert not fixture.join(leader).done
    assert fixture.describe_state() == "PreparingRebalance"


def test_a_follower_with_another_subscription_starts_a_rebalance(fixture: GroupFixture) -> None:
    _, follower = fixture.stable("a", "b")
    assert not fixture.join(follower, protocols=(("range", b"other"),)).done
    assert fixture.describe_state() == "PreparingRebalance"


def test_a_lost_join_answer_is_given_again(fixture: GroupFixture) -> None:
    first = fixture.join().value
    assert fixture.join("client-1").value == first
    assert fixture.join("client-1", protocols=(("range", b"new"),)).value.generation == 2


def test_a_join_left_over_from_a_lost_connection_is_answered(fixture: GroupFixture) -> None:
    leader, follower = fixture.stable("a", "b")
    old = fixture.join(leader)
    new = fixture.join(leader)
    assert old.value.error == ErrorCode.REBALANCE_IN_PROGRESS
    assert not new.done
    fixture.join(follower)
    assert new.value.generation == 3


def test_who_does_not_join_again_in_time_is_out(fixture: GroupFixture) -> None:
    leader, follower = fixture.stable("a", "b", session_timeout_ms=100_000)
    rejoined = fixture.join(follower, protocols=(("range", b"other"),), rebalance_timeout_ms=30_000)
    fixture.clock.advance(59_999)
    assert not rejoined.done
    fixture.clock.advance(1)
    assert rejoined.value.leader == follower
    assert fixture.heartbeat(leader, 3) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_new_member_is_given_up_after_five_minutes(fixture: GroupFixture) -> None:
    leader = fixture.join(client_id="a", session_timeout_ms=1_800_000, rebalance_timeout_ms=1_000_000).value
    fixture.sync(leader.member_id, 1, {})
    second = fixture.join(client_id="b", rebalance_timeout_ms=1_000_000)
    fixture.clock.advance(300_000)
    assert second.value == JoinAnswer(ErrorCode.UNKNOWN_MEMBER_ID)


def test_a_full_group_takes_nobody_else() -> None:
    fixture = GroupFixture(with_defaults(GroupCoordinatorConfig, max_size=2))
    leader, follower = fixture.stable("a", "b")
    assert fixture.join(client_id="c").value == JoinAnswer(ErrorCode.GROUP_MAX_SIZE_REACHED)
    assert fixture.join(follower).value.error == ErrorCode.NONE
    assert fixture.heartbeat(leader, 2) == ErrorCode.NONE


def test_a_group_over_a_lowered_limit_turns_the_last_ones_away() -> None:
    fixture = GroupFixture()
    members = fixture.stable("a", "b", "c")
    fixture.config = with_defaults(GroupCoordinatorConfig, max_size=2)
    fixture.restart()
    assert fixture.describe_state() == "PreparingRebalance"
    joins = [fixture.join(member) for member in members]
    assert joins[2].value.error == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert {member.member_id for member in joins[0].value.members} == set(members[:2])
    fixture.check_invariants()


def test_a_member_leads_that_joined_when_the_leader_did_not(fixture: GroupFixture) -> None:
    _, *followers = fixture.stable("a", "b", "c")
    joins = [fixture.join(member, protocols=(("range", b"new"),)) for member in followers]
    fixture.clock.advance(10_000)  # the leader's session
    assert joins[0].value.leader in followers
    assert len([join for join in joins if join.value.members]) == 1
