"""State that survives a restart, and descriptions of groups."""

from __future__ import annotations

import pytest

from kcompat.group.requests import DescribedGroup, DescribedMember, JoinAnswer, ListedGroup, SyncAnswer
from kcompat.protocol.errors import ErrorCode
from support.group_coordinators import GROUP, PARTITIONS, GroupFixture


def test_a_stable_group_goes_on_after_a_restart(fixture: GroupFixture) -> None:
    leader, follower = fixture.stable("a", "b")
    before = fixture.coordinator.describe(GROUP)
    fixture.restart()
    assert fixture.coordinator.describe(GROUP) == before
    assert fixture.heartbeat(leader, 2) == ErrorCode.NONE
    assert fixture.sync(follower, 2).value.assignment == b"for b-2"
    assert fixture.join(follower).value.generation == 2


def test_sessions_begin_anew_after_a_restart(fixture: GroupFixture) -> None:
    leader, follower = fixture.stable("a", "b")
    fixture.clock.advance(9_000)
    fixture.restart()
    fixture.clock.advance(9_999)
    assert fixture.heartbeat(leader, 2) == ErrorCode.NONE
    fixture.clock.advance(1)
    assert fixture.heartbeat(follower, 2) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_rebalance_is_lost_but_the_generation_before_it_is_not(fixture: GroupFixture) -> None:
    leader, _ = fixture.stable("a", "b")
    fixture.join(client_id="c")
    fixture.restart()
    assert fixture.describe_state() == "Stable"
    assert fixture.heartbeat(leader, 2) == ErrorCode.NONE


def test_an_emptied_group_comes_back_empty_at_its_generation(fixture: GroupFixture) -> None:
    (member,) = fixture.stable("a")
    fixture.leave(member)
    fixture.restart()
    assert fixture.describe_state() == "Empty"
    assert fixture.join().value.generation == 3


def test_unloading_sends_those_who_wait_to_their_new_coordinator(fixture: GroupFixture) -> None:
    leader, follower = fixture.stable("a", "b")
    joining = fixture.join(leader)
    other = fixture.join(group_id="other").value.member_id
    second = fixture.join(group_id="other")
    fixture.join(other, group_id="other")
    syncing = fixture.sync(second.value.member_id, 2, group_id="other")
    for partition in range(PARTITIONS):
        fixture.coordinator.unload(partition, leader_epoch=2)
    assert joining.value == JoinAnswer(ErrorCode.NOT_COORDINATOR, member_id=leader)
    assert syncing.value == SyncAnswer(ErrorCode.NOT_COORDINATOR)
    assert fixture.heartbeat(follower, 2) == ErrorCode.NOT_COORDINATOR
    assert fixture.join().value.error == ErrorCode.NOT_COORDINATOR
    assert fixture.coordinator.describe(GROUP) == DescribedGroup(GROUP, ErrorCode.NOT_COORDINATOR)
    assert fixture.clock.pending == 0


def test_describing(fixture: GroupFixture) -> None:
    (member,) = fixture.stable("a")
    row = DescribedMember(member, None, "a", "/127.0.0.1", b"meta", b"for a-1")
    assert fixture.coordinator.describe(GROUP) == DescribedGroup(
        GROUP, ErrorCode.NONE, "Stable", "consumer", "range", (row,)
    )
    fixture.join(client_id="b")
    described = fixture.coordinator.describe(GROUP)
    assert (described.state, described.protocol) == ("PreparingRebalance", "")
    assert [(m.metadata, m.assignment) for m in described.members] == [(b"", b"for a-1"), (b"", b"")]
    assert fixture.coordinator.describe("absent") == DescribedGroup(
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
def test_listing(fixture: GroupFixture, states: set[str], types: set[str], expected: set[str]) -> None:
    fixture.stable("a", group_id="live")
    fixture.commit({("topic", 0): 1}, group_id="simple")
    error, groups = fixture.coordinator.list_groups(states, types)
    assert error == ErrorCode.NONE
    assert {group.group_id for group in groups} == expected


def test_a_listed_group(fixture: GroupFixture) -> None:
    fixture.stable("a", group_id="live")
    assert fixture.coordinator.list_groups(set(), set())[1] == [
        ListedGroup("live", "consumer", "Stable", "classic")
    ]
