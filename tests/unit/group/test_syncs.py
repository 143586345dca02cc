"""SyncGroup, Heartbeat, LeaveGroup and sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.group.requests import JoinAnswer, LeaveAnswer, MemberIdentity, SyncAnswer
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from support.group_world import GroupWorld


def completing(world: GroupWorld) -> tuple[str, str]:
    """Leader and follower of generation 2, nobody has synced."""
    leader = world.join(client_id="a").value.member_id
    follower = world.join(client_id="b")
    world.join(leader)
    return leader, follower.value.member_id


def test_all_get_their_assignment_when_the_leader_sends_them(world: GroupWorld) -> None:
    leader, follower = completing(world)
    waiting = world.sync(follower, 2)
    assert not waiting.done
    answer = world.sync(leader, 2, {leader: b"A", follower: b"B"}).value
    assert answer == SyncAnswer(ErrorCode.NONE, "consumer", "range", b"A")
    assert waiting.value == SyncAnswer(ErrorCode.NONE, "consumer", "range", b"B")
    assert world.describe_state() == "Stable"


def test_a_late_follower_gets_its_assignment_at_once(world: GroupWorld) -> None:
    leader, follower = completing(world)
    world.sync(leader, 2, {leader: b"A", follower: b"B"})
    assert world.sync(follower, 2).value.assignment == b"B"


def test_members_the_leader_forgot_get_nothing_and_strangers_are_left_out(world: GroupWorld) -> None:
    leader, follower = completing(world)
    world.sync(leader, 2, {leader: b"A", "stranger": b"X"})
    assert world.sync(follower, 2).value == SyncAnswer(ErrorCode.NONE, "consumer", "range", b"")


def test_nobody_is_answered_before_the_assignments_are_committed(world: GroupWorld) -> None:
    leader, follower = completing(world)
    world.log.hold()
    waiting = [world.sync(follower, 2), world.sync(leader, 2, {leader: b"A"})]
    assert not any(sync.done for sync in waiting)
    assert world.describe_state() == "CompletingRebalance"
    world.log.release()
    assert all(sync.value.error == ErrorCode.NONE for sync in waiting)
    assert world.describe_state() == "Stable"


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
    world: GroupWorld, error: ErrorCode, told: ErrorCode
) -> None:
    leader, follower = completing(world)
    waiting = world.sync(follower, 2)
    world.log.error = error
    assert world.sync(leader, 2, {}).value == SyncAnswer(told)
    assert waiting.value == SyncAnswer(told)
    assert world.describe_state() == "PreparingRebalance"


def test_assignments_that_are_not_committed_in_time_start_a_rebalance(world: GroupWorld) -> None:
    leader, _ = completing(world)
    world.log.hold()
    waiting = world.sync(leader, 2, {})
    world.clock.advance(5000)
    assert waiting.value == SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS)
    assert world.describe_state() == "PreparingRebalance"
    world.log.release()
    assert world.describe_state() == "PreparingRebalance"


def test_a_rebalance_while_assignments_are_written_leaves_them_behind(world: GroupWorld) -> None:
    leader, follower = completing(world)
    world.log.hold()
    waiting = world.sync(leader, 2, {leader: b"A"})
    world.join(client_id="c")
    assert waiting.value == SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS)
    world.log.release()
    assert world.describe_state() == "PreparingRebalance"
    assert world.heartbeat(follower, 2) == ErrorCode.REBALANCE_IN_PROGRESS


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
    world: GroupWorld,
    member_id: str,
    generation: int,
    protocol_type: str | None,
    protocol_name: str | None,
    error: ErrorCode,
) -> None:
    completing(world)
    answer = world.sync(
        member_id, generation, {}, protocol_type=protocol_type, protocol_name=protocol_name
    ).value
    assert answer.error == error


def test_a_sync_in_a_rebalance_is_told_to_join_again(world: GroupWorld) -> None:
    leader, _ = world.stable("a", "b")
    world.join(client_id="c")
    assert world.sync(leader, 2, {}).value == SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS)


def test_who_joins_but_never_syncs_is_out(world: GroupWorld) -> None:
    leader, follower = completing(world)
    world.sync(leader, 2, {})
    for _ in range(12):
        world.clock.advance(5_000)
        world.heartbeat(leader, 2)
        world.heartbeat(follower, 2)
    assert world.heartbeat(follower, 2) == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.heartbeat(leader, 2) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_sync_left_over_from_a_lost_connection_is_answered(world: GroupWorld) -> None:
    leader, follower = completing(world)
    old = world.sync(follower, 2)
    new = world.sync(follower, 2)
    assert old.value == SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS)
    world.sync(leader, 2, {follower: b"B"})
    assert new.value.assignment == b"B"


def test_heartbeats_keep_a_member_in(world: GroupWorld) -> None:
    leader, follower = world.stable("a", "b")
    for _ in range(5):
        world.clock.advance(9_999)
        assert world.heartbeat(leader, 2) == ErrorCode.NONE
        assert world.heartbeat(follower, 2) == ErrorCode.NONE
    world.clock.advance(9_999)
    world.heartbeat(leader, 2)
    world.clock.advance(1)
    assert world.heartbeat(follower, 2) == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.heartbeat(leader, 2) == ErrorCode.REBALANCE_IN_PROGRESS


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
    world: GroupWorld, member_id: str, generation: int, group_id: str, error: ErrorCode
) -> None:
    world.stable("a")
    assert world.heartbeat(member_id, generation, group_id=group_id) == error


def test_heartbeats_are_welcome_before_the_assignment(world: GroupWorld) -> None:
    leader, follower = completing(world)
    assert world.heartbeat(leader, 2) == ErrorCode.NONE
    assert world.heartbeat(follower, 2) == ErrorCode.NONE


def test_a_waiting_sync_counts_as_alive(world: GroupWorld) -> None:
    leader, follower = completing(world)
    waiting = world.sync(follower, 2)
    world.clock.advance(8_000)
    world.heartbeat(leader, 2)
    world.clock.advance(8_000)
    assert not waiting.done
    world.sync(leader, 2, {follower: b"B"})
    assert waiting.value.assignment == b"B"
    world.clock.advance(9_999)
    assert world.heartbeat(follower, 2) == ErrorCode.NONE


def test_a_waiting_join_counts_as_alive(world: GroupWorld) -> None:
    leader, follower = world.stable("a", "b")
    rejoined = world.join(leader)
    world.clock.advance(5_000)
    world.heartbeat(follower, 2)
    world.clock.advance(9_000)
    assert not rejoined.done
    world.join(follower)
    assert rejoined.value.error == ErrorCode.NONE


def test_leaving_starts_a_rebalance(world: GroupWorld) -> None:
    leader, follower = world.stable("a", "b")
    assert world.leave(follower).value == LeaveAnswer(members=((MemberIdentity(follower), ErrorCode.NONE),))
    assert world.heartbeat(leader, 2) == ErrorCode.REBALANCE_IN_PROGRESS
    assert world.join(leader).value.generation == 3


def test_the_last_to_leave_empties_the_group(world: GroupWorld) -> None:
    leader, follower = world.stable("a", "b")
    world.leave(leader, follower)
    assert world.describe_state() == "Empty"
    group = world.group()
    assert group is not None
    assert (group.generation, group.leader, group.protocol_name) == (3, None, None)


def test_leaving_completes_the_join_of_those_who_stay(world: GroupWorld) -> None:
    leader, follower = world.stable("a", "b")
    rejoined = world.join(leader)
    world.leave(follower)
    assert rejoined.value.generation == 3


def test_leaving_answers_what_the_member_waits_for(world: GroupWorld) -> None:
    leader, follower = completing(world)
    sync = world.sync(follower, 2)
    world.leave(follower)
    assert sync.value == SyncAnswer(ErrorCode.UNKNOWN_MEMBER_ID)
    join = world.join(leader)
    assert join.value.generation == 3
    world.join(client_id="c")
    again = world.join(client_id="d")
    world.leave("d-4")
    assert again.value == JoinAnswer(ErrorCode.UNKNOWN_MEMBER_ID)


def test_an_id_handed_out_can_be_given_back(world: GroupWorld) -> None:
    world.stable("a")
    world.join(client_id="b", needs_member_id=True)
    rejoined = world.join("a-1")
    assert not rejoined.done
    assert world.leave("b-2").value.members[0][1] == ErrorCode.NONE
    assert rejoined.value.generation == 2


def test_strangers_cannot_leave(world: GroupWorld) -> None:
    world.stable("a")
    assert world.leave("x").value.members[0][1] == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.leave("a-1", group_id="other").value.members[0][1] == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.leave("a-1", group_id="").value.error == ErrorCode.INVALID_GROUP_ID
