"""What survives a restart, and what is told of groups."""

from __future__ import annotations

import pytest

from kcompat.group.requests import DescribedGroup, DescribedMember, JoinAnswer, ListedGroup, SyncAnswer
from kcompat.protocol.errors import ErrorCode
from support.group_world import GROUP, PARTITIONS, GroupWorld


def test_a_stable_group_goes_on_after_a_restart(world: GroupWorld) -> None:
    leader, follower = world.stable("a", "b")
    before = world.coordinator.describe(GROUP)
    world.restart()
    assert world.coordinator.describe(GROUP) == before
    assert world.heartbeat(leader, 2) == ErrorCode.NONE
    assert world.sync(follower, 2).value.assignment == b"for b-2"
    assert world.join(follower).value.generation == 2


def test_sessions_begin_anew_after_a_restart(world: GroupWorld) -> None:
    leader, follower = world.stable("a", "b")
    world.clock.advance(9_000)
    world.restart()
    world.clock.advance(9_999)
    assert world.heartbeat(leader, 2) == ErrorCode.NONE
    world.clock.advance(1)
    assert world.heartbeat(follower, 2) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_rebalance_is_lost_but_the_generation_before_it_is_not(world: GroupWorld) -> None:
    leader, _ = world.stable("a", "b")
    world.join(client_id="c")
    world.restart()
    assert world.describe_state() == "Stable"
    assert world.heartbeat(leader, 2) == ErrorCode.NONE


def test_an_emptied_group_comes_back_empty_at_its_generation(world: GroupWorld) -> None:
    (member,) = world.stable("a")
    world.leave(member)
    world.restart()
    assert world.describe_state() == "Empty"
    assert world.join().value.generation == 3


def test_unloading_sends_those_who_wait_to_their_new_coordinator(world: GroupWorld) -> None:
    leader, follower = world.stable("a", "b")
    joining = world.join(leader)
    other = world.join(group_id="other").value.member_id
    second = world.join(group_id="other")
    world.join(other, group_id="other")
    syncing = world.sync(second.value.member_id, 2, group_id="other")
    for partition in range(PARTITIONS):
        world.coordinator.unload(partition, leader_epoch=2)
    assert joining.value == JoinAnswer(ErrorCode.NOT_COORDINATOR, member_id=leader)
    assert syncing.value == SyncAnswer(ErrorCode.NOT_COORDINATOR)
    assert world.heartbeat(follower, 2) == ErrorCode.NOT_COORDINATOR
    assert world.join().value.error == ErrorCode.NOT_COORDINATOR
    assert world.coordinator.describe(GROUP) == DescribedGroup(GROUP, ErrorCode.NOT_COORDINATOR)
    assert world.clock.pending == 0


def test_describing(world: GroupWorld) -> None:
    (member,) = world.stable("a")
    row = DescribedMember(member, None, "a", "/127.0.0.1", b"meta", b"for a-1")
    assert world.coordinator.describe(GROUP) == DescribedGroup(
        GROUP, ErrorCode.NONE, "Stable", "consumer", "range", (row,)
    )
    world.join(client_id="b")
    described = world.coordinator.describe(GROUP)
    assert (described.state, described.protocol) == ("PreparingRebalance", "")
    assert [(m.metadata, m.assignment) for m in described.members] == [(b"", b"for a-1"), (b"", b"")]
    assert world.coordinator.describe("absent") == DescribedGroup(
        "absent", ErrorCode.GROUP_ID_NOT_FOUND, "Dead", message="Group absent not found."
    )


@pytest.mark.parametrize(
    ("states", "types", "expected"),
    [
        (set(), set(), {"live", "simple"}),
        ({"stable"}, set(), {"live"}),
        ({"empty", "dead"}, {"classic"}, {"simple"}),
        (set(), {"consumer"}, set()),
        ({"nonsense"}, set(), set()),
    ],
)
def test_listing(world: GroupWorld, states: set[str], types: set[str], expected: set[str]) -> None:
    world.stable("a", group_id="live")
    world.commit({("topic", 0): 1}, group_id="simple")
    error, groups = world.coordinator.list_groups(states, types)
    assert error == ErrorCode.NONE
    assert {group.group_id for group in groups} == expected


def test_a_listed_group(world: GroupWorld) -> None:
    world.stable("a", group_id="live")
    assert world.coordinator.list_groups(set(), set())[1] == [
        ListedGroup("live", "consumer", "Stable", "classic")
    ]
