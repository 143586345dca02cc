"""Static members (KIP-345) and assignments that are skipped (KIP-814)."""

from __future__ import annotations

import pytest

from kcompat.group.requests import JoinAnswer, MemberIdentity, SyncAnswer
from kcompat.protocol.errors import ErrorCode
from support.group_coordinators import GROUP, GroupFixture


def static_group(fixture: GroupFixture) -> None:
    """Stable at generation 2 with the static members one (s1-1, the leader) and two (s2-2)."""
    fixture.join(instance_id="s1")
    second = fixture.join(instance_id="s2")
    fixture.join("s1-1", instance_id="s1")
    assert second.value.generation == 2
    fixture.sync("s2-2", 2)
    fixture.sync("s1-1", 2, {"s1-1": b"one", "s2-2": b"two"})
    assert fixture.describe_state() == "Stable"


def test_ids_of_static_members_come_from_their_instance(fixture: GroupFixture) -> None:
    assert fixture.join(instance_id="s1", needs_member_id=False).value.member_id == "s1-1"


def test_a_follower_returns_without_a_rebalance(fixture: GroupFixture) -> None:
    static_group(fixture)
    answer = fixture.join(instance_id="s2").value
    assert answer == JoinAnswer(
        member_id="s2-3",
        generation=2,
        protocol_type="consumer",
        protocol_name="range",
        leader="s1-1",
    )
    assert fixture.sync("s2-3", 2, instance_id="s2").value.assignment == b"two"
    assert fixture.heartbeat("s2-2", 2, instance_id="s2") == ErrorCode.FENCED_INSTANCE_ID


def test_a_leader_returns_and_is_told_to_skip_the_assignment(fixture: GroupFixture) -> None:
    static_group(fixture)
    answer = fixture.join(instance_id="s1").value
    assert (answer.leader, answer.skip_assignment) == ("s1-3", True)
    assert {member.member_id for member in answer.members} == {"s1-3", "s2-2"}
    assert fixture.describe_state() == "Stable"


def test_an_older_leader_does_not_recognise_itself(fixture: GroupFixture) -> None:
    static_group(fixture)
    answer = fixture.join(instance_id="s1", can_skip_assignment=False).value
    assert (answer.member_id, answer.leader, answer.skip_assignment) == ("s1-3", "s1-1", False)
    assert answer.members == ()


def test_the_new_id_survives_a_restart(fixture: GroupFixture) -> None:
    static_group(fixture)
    fixture.join(instance_id="s2")
    fixture.restart()
    assert fixture.heartbeat("s2-3", 2, instance_id="s2") == ErrorCode.NONE
    assert fixture.sync("s2-3", 2, instance_id="s2").value.assignment == b"two"


def test_the_old_id_stays_when_the_new_one_cannot_be_written(fixture: GroupFixture) -> None:
    static_group(fixture)
    fixture.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    answer = fixture.join(instance_id="s1", protocols=(("range", b"new"),)).value
    assert answer == JoinAnswer(
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        generation=2,
        protocol_type="consumer",
        protocol_name="range",
        leader="s1-1",
    )
    assert fixture.heartbeat("s1-1", 2, instance_id="s1") == ErrorCode.NONE
    group = fixture.group()
    assert group is not None
    assert group.members["s1-1"].protocols == (("range", b"meta"),)


def test_of_two_returns_that_wait_for_their_records_the_later_one_goes_on(fixture: GroupFixture) -> None:
    """The client asked again before the first was answered, so it has the id of the second."""
    static_group(fixture)
    fixture.log.hold()
    first, second = fixture.join(instance_id="s2"), fixture.join(instance_id="s2")
    assert first.value == JoinAnswer(ErrorCode.FENCED_INSTANCE_ID, member_id="s2-3")
    assert not second.done
    fixture.log.release()
    assert (second.value.error, second.value.member_id) == (ErrorCode.NONE, "s2-4")
    assert fixture.sync("s2-4", 2, instance_id="s2").value.assignment == b"two"


def test_a_return_that_could_not_be_written_does_not_take_back_a_later_one(fixture: GroupFixture) -> None:
    static_group(fixture)
    fixture.log.hold()
    fixture.join(instance_id="s2")
    fixture.clock.advance(3_000)
    second = fixture.join(instance_id="s2")
    fixture.clock.advance(2_000)
    assert not second.done, "only the first has waited for too long"
    fixture.log.release()
    assert (second.value.error, second.value.member_id) == (ErrorCode.NONE, "s2-4")
    assert fixture.heartbeat("s2-4", 2, instance_id="s2") == ErrorCode.NONE
    fixture.restart()
    assert fixture.heartbeat("s2-4", 2, instance_id="s2") == ErrorCode.NONE


def test_a_change_of_protocol_starts_a_rebalance(fixture: GroupFixture) -> None:
    fixture.join(instance_id="s1", protocols=(("range", b""), ("sticky", b"")))
    fixture.sync("s1-1", 1, {})
    answer = fixture.join(instance_id="s1", protocols=(("sticky", b""),)).value
    assert (answer.member_id, answer.generation, answer.protocol_name) == ("s1-2", 2, "sticky")


def test_a_return_while_assignments_are_made_starts_a_rebalance(fixture: GroupFixture) -> None:
    fixture.join(instance_id="s1")
    fixture.join(instance_id="s2")
    fixture.join("s1-1", instance_id="s1")
    waiting = fixture.sync("s2-2", 2)
    returned = fixture.join(instance_id="s2")
    assert waiting.value == SyncAnswer(ErrorCode.FENCED_INSTANCE_ID)
    assert not returned.done
    fixture.join("s1-1", instance_id="s1")
    assert returned.value.generation == 3


def test_a_waiting_join_of_the_old_id_is_fenced(fixture: GroupFixture) -> None:
    static_group(fixture)
    old = fixture.join("s1-1", instance_id="s1")
    new = fixture.join(instance_id="s1")
    assert old.value == JoinAnswer(ErrorCode.FENCED_INSTANCE_ID, member_id="s1-1")
    fixture.join("s2-2", instance_id="s2")
    assert new.value.generation == 3


def test_a_static_member_may_be_away_for_its_session(fixture: GroupFixture) -> None:
    static_group(fixture)
    fixture.join("s1-1", instance_id="s1")
    fixture.clock.advance(10_000)
    assert fixture.heartbeat("s2-2", 3, instance_id="s2") == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_generation_is_not_made_of_absent_static_members_alone(fixture: GroupFixture) -> None:
    fixture.join(instance_id="s1", session_timeout_ms=100_000, rebalance_timeout_ms=20_000)
    fixture.sync("s1-1", 1, {})
    fixture.join(instance_id="s2", rebalance_timeout_ms=20_000, session_timeout_ms=100_000)
    fixture.leave(MemberIdentity("", "s2"))
    assert fixture.describe_state() == "PreparingRebalance"
    fixture.clock.advance(20_000)
    assert fixture.describe_state() == "PreparingRebalance"
    assert fixture.join("s1-1", instance_id="s1").value.generation == 2


@pytest.mark.parametrize(
    ("member_id", "instance_id", "error"),
    [
        ("s1-1", "s1", ErrorCode.NONE),
        ("s1-1", None, ErrorCode.NONE),
        ("s1-9", "s1", ErrorCode.FENCED_INSTANCE_ID),
        ("s1-1", "s9", ErrorCode.UNKNOWN_MEMBER_ID),
        ("s1-9", None, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_who_is_who(fixture: GroupFixture, member_id: str, instance_id: str | None, error: ErrorCode) -> None:
    static_group(fixture)
    assert fixture.heartbeat(member_id, 2, instance_id=instance_id) == error
    assert fixture.sync(member_id, 2, instance_id=instance_id).value.error == error


def test_an_administrator_removes_by_instance_id(fixture: GroupFixture) -> None:
    static_group(fixture)
    answer = fixture.leave(MemberIdentity("", "s2"), MemberIdentity("", "s9")).value
    assert [error for _, error in answer.members] == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]
    group = fixture.group(GROUP)
    assert group is not None
    assert set(group.members) == {"s1-1"}
