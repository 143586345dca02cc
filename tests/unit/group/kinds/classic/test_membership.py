"""SyncGroup, Heartbeat, LeaveGroup and sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.group.requests import JoinAnswer, LeaveAnswer, MemberIdentity, SyncAnswer
from kcompat.protocol.errors import ErrorCode
from support.group_coordinators import GROUP

if TYPE_CHECKING:
    from support.group_coordinators import GroupFixture


def completing(fixture: GroupFixture) -> tuple[str, str]:
    """Leader and follower of generation 2, nobody has synced."""
    leader = fixture.join(client_id="a").value.member_id
    follower = fixture.join(client_id="b")
    fixture.join(leader)
    return leader, follower.value.member_id


def test_all_get_their_assignment_when_the_leader_sends_them(fixture: GroupFixture) -> None:
    leader, follower = completing(fixture)
    waiting = fixture.sync(follower, 2)
    assert not waiting.done
    answer = fixture.sync(leader, 2, {leader: b"A", follower: b"B"}).value
    assert answer == SyncAnswer(ErrorCode.NONE, "consumer", "range", b"A")
    assert waiting.value == SyncAnswer(ErrorCode.NONE, "consumer", "range", b"B")
    assert fixture.describe_state() == "Stable"


def test_a_late_follower_gets_its_assignment_at_once(fixture: GroupFixture) -> None:
    leader, follower = completing(fixture)
    fixture.sync(leader, 2, {leader: b"A", follower: b"B"})
    assert fixture.sync(follower, 2).value.assignment == b"B"


def test_members_the_leader_forgot_get_nothing_and_strangers_are_left_out(fixture: GroupFixture) -> None:
    leader, follower = completing(fixture)
    fixture.sync(leader, 2, {leader: b"A", "stranger": b"X"})
    assert fixture.sync(follower, 2).value == SyncAnswer(ErrorCode.NONE, "consumer", "range", b"")


def test_nobody_is_answered_before_the_assignments_are_committed(fixture: GroupFixture) -> None:
    leader, follower = completing(fixture)
    fixture.log.hold()
    waiting = [fixture.sync(follower, 2), fixture.sync(leader, 2, {leader: b"A"})]
    assert not any(sync.done for sync in waiting)
    assert fixture.describe_state() == "CompletingRebalance"
    fixture.log.release()
    assert all(sync.value.error == ErrorCode.NONE for sync in waiting)
    assert fixture.describe_state() == "Stable"


def test_assignments_are_out_of_date_once_the_next_generation_was_not_handed_any(
    fixture: GroupFixture,
) -> None:
    leader, follower = completing(fixture)
    fixture.sync(follower, 2)
    fixture.sync(leader, 2, {leader: b"A", follower: b"B"})
    fixture.join(leader)
    fixture.join(follower)
    assert fixture.describe_state() == "CompletingRebalance"
    fixture.leave(follower)
    assert fixture.describe_state() == "PreparingRebalance"
    assert [member.assignment for member in fixture.coordinator.describe(GROUP).members] == [b""]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
)
def test_assignments_that_cannot_be_written_start_a_rebalance(
    fixture: GroupFixture, error: ErrorCode, told: ErrorCode
) -> None:
    leader, follower = completing(fixture)
    waiting = fixture.sync(follower, 2)
    fixture.log.error = error
    assert fixture.sync(leader, 2, {}).value == SyncAnswer(told)
    assert waiting.value == SyncAnswer(told)
    assert fixture.describe_state() == "PreparingRebalance"


def test_assignments_that_are_not_committed_in_time_start_a_rebalance(fixture: GroupFixture) -> None:
    leader, _ = completing(fixture)
    fixture.log.hold()
    waiting = fixture.sync(leader, 2, {})
    fixture.clock.advance(5000)
    assert waiting.value == SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS)
    assert fixture.describe_state() == "PreparingRebalance"
    fixture.log.release()
    assert fixture.describe_state() == "PreparingRebalance"


def test_a_rebalance_while_assignments_are_written_leaves_them_behind(fixture: GroupFixture) -> None:
    leader, follower = completing(fixture)
    fixture.log.hold()
    waiting = fixture.sync(leader, 2, {leader: b"A"})
    fixture.join(client_id="c")
    assert waiting.value == SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS)
    fixture.log.release()
    assert fixture.describe_state() == "PreparingRebalance"
    assert fixture.heartbeat(follower, 2) == ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize(
    ("member_id", "generation", "protocol_type", "protocol_name", "error"),
    [
        ("nobody", 2, None, None, ErrorCode.UNKNOWN_MEMBER_ID),
        ("a-1", 1, None, None, ErrorCode.ILLEGAL_GENERATION),
        ("a-1", 3, None, None, ErrorCode.ILLEGAL_GENERATION),
        ("a-1", 2, "connect", "range", ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ("a-1", 2, "consumer", "sticky", ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ("a-1", 2, "consumer", "range", ErrorCode.NONE),
    ],
)
def test_who_may_sync(
    fixture: GroupFixture,
    member_id: str,
    generation: int,
    protocol_type: str | None,
    protocol_name: str | None,
    error: ErrorCode,
) -> None:
    completing(fixture)
    answer = fixture.sync(
        member_id, generation, {}, protocol_type=protocol_type, protocol_name=protocol_name
    ).value
    assert answer.error == error


def test_a_sync_in_a_rebalance_is_told_to_join_again(fixture: GroupFixture) -> None:
    leader, _ = fixture.stable("a", "b")
    fixture.join(client_id="c")
    assert fixture.sync(leader, 2, {}).value == SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS)


def test_who_joins_but_never_syncs_is_out(fixture: GroupFixture) -> None:
    leader, follower = completing(fixture)
    fixture.sync(leader, 2, {})
    for _ in range(12):
        fixture.clock.advance(5_000)
        fixture.heartbeat(leader, 2)
        fixture.heartbeat(follower, 2)
    assert fixture.heartbeat(follower, 2) == ErrorCode.UNKNOWN_MEMBER_ID
    assert fixture.heartbeat(leader, 2) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_sync_left_over_from_a_lost_connection_is_answered(fixture: GroupFixture) -> None:
    leader, follower = completing(fixture)
    old = fixture.sync(follower, 2)
    new = fixture.sync(follower, 2)
    assert old.value == SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS)
    fixture.sync(leader, 2, {follower: b"B"})
    assert new.value.assignment == b"B"


def test_heartbeats_keep_a_member_in(fixture: GroupFixture) -> None:
    leader, follower = fixture.stable("a", "b")
    for _ in range(5):
        fixture.clock.advance(9_999)
        assert fixture.heartbeat(leader, 2) == ErrorCode.NONE
        assert fixture.heartbeat(follower, 2) == ErrorCode.NONE
    fixture.clock.advance(9_999)
    fixture.heartbeat(leader, 2)
    fixture.clock.advance(1)
    assert fixture.heartbeat(follower, 2) == ErrorCode.UNKNOWN_MEMBER_ID
    assert fixture.heartbeat(leader, 2) == ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize(
    ("member_id", "generation", "group_id", "error"),
    [
        ("a-1", 1, "group", ErrorCode.NONE),
        ("a-1", 0, "group", ErrorCode.ILLEGAL_GENERATION),
        ("x", 1, "group", ErrorCode.UNKNOWN_MEMBER_ID),
        ("a-1", 1, "other", ErrorCode.UNKNOWN_MEMBER_ID),
        ("a-1", 1, "", ErrorCode.INVALID_GROUP_ID),
    ],
)
def test_who_may_heartbeat(
    fixture: GroupFixture, member_id: str, generation: int, group_id: str, error: ErrorCode
) -> None:
    fixture.stable("a")
    assert fixture.heartbeat(member_id, generation, group_id=group_id) == error


def test_heartbeats_are_welcome_before_the_assignment(fixture: GroupFixture) -> None:
    leader, follower = completing(fixture)
    assert fixture.heartbeat(leader, 2) == ErrorCode.NONE
    assert fixture.heartbeat(follower, 2) == ErrorCode.NONE


def test_a_waiting_sync_counts_as_alive(fixture: GroupFixture) -> None:
    leader, follower = completing(fixture)
    waiting = fixture.sync(follower, 2)
    fixture.clock.advance(8_000)
    fixture.heartbeat(leader, 2)
    fixture.clock.advance(8_000)
    assert not waiting.done
    fixture.sync(leader, 2, {follower: b"B"})
    assert waiting.value.assignment == b"B"
    fixture.clock.advance(9_999)
    assert fixture.heartbeat(follower, 2) == ErrorCode.NONE


def test_a_waiting_join_counts_as_alive(fixture: GroupFixture) -> None:
    leader, follower = fixture.stable("a", "b")
    rejoined = fixture.join(leader)
    fixture.clock.advance(5_000)
    fixture.heartbeat(follower, 2)
    fixture.clock.advance(9_000)
    assert not rejoined.done
    fixture.join(follower)
    assert rejoined.value.error == ErrorCode.NONE


def test_leaving_starts_a_rebalance(fixture: GroupFixture) -> None:
    leader, follower = fixture.stable("a", "b")
    assert fixture.leave(follower).value == LeaveAnswer(members=((MemberIdentity(follower), ErrorCode.NONE),))
    assert fixture.heartbeat(leader, 2) == ErrorCode.REBALANCE_IN_PROGRESS
    assert fixture.join(leader).value.generation == 3


def test_the_last_to_leave_empties_the_group(fixture: GroupFixture) -> None:
    leader, follower = fixture.stable("a", "b")
    fixture.leave(leader, follower)
    assert fixture.describe_state() == "Empty"
    group = fixture.group()
    assert group is not None
    assert (group.generation, group.leader, group.protocol_name) == (3, None, None)


def test_leaving_completes_the_join_of_those_who_stay(fixture: GroupFixture) -> None:
    leader, follower = fixture.stable("a", "b")
    rejoined = fixture.join(leader)
    fixture.leave(follower)
    assert rejoined.value.generation == 3


def test_leaving_answers_what_the_member_waits_for(fixture: GroupFixture) -> None:
    leader, follower = completing(fixture)
    sync = fixture.sync(follower, 2)
    fixture.leave(follower)
    assert sync.value == SyncAnswer(ErrorCode.UNKNOWN_MEMBER_ID)
    join = fixture.join(leader)
    assert join.value.generation == 3
    fixture.join(client_id="c")
    again = fixture.join(client_id="d")
    fixture.leave("d-4")
    assert again.value == JoinAnswer(ErrorCode.UNKNOWN_MEMBER_ID)


def test_an_id_handed_out_can_be_given_back(fixture: GroupFixture) -> None:
    fixture.stable("a")
    fixture.join(client_id="b", needs_member_id=True)
    rejoined = fixture.join("a-1")
    assert not rejoined.done
    assert fixture.leave("b-2").value.members[0][1] == ErrorCode.NONE
    assert rejoined.value.generation == 2


def test_strangers_cannot_leave(fixture: GroupFixture) -> None:
    fixture.stable("a")
    assert fixture.leave("x").value.members[0][1] == ErrorCode.UNKNOWN_MEMBER_ID
    assert fixture.leave("a-1", group_id="other").value.members[0][1] == ErrorCode.UNKNOWN_MEMBER_ID
    assert fixture.leave("a-1", group_id="").value.error == ErrorCode.INVALID_GROUP_ID
