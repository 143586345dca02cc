"""The states of a classic group: what leads from one to another, and what each request finds in each (Kafka's
`ClassicGroup` and `GroupMetadataManager`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.group.kinds.classic.members import ClassicState
from kcompat.protocol.errors import ErrorCode
from support.default_settings import with_defaults
from support.group_coordinators import GROUP, GroupFixture

if TYPE_CHECKING:
    from collections.abc import Callable

EMPTY, DEAD = "Empty", "Dead"
PREPARING, COMPLETING, STABLE = "PreparingRebalance", "CompletingRebalance", "Stable"
NONE, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID
REBALANCE = ErrorCode.REBALANCE_IN_PROGRESS
PARKED = None
"""In place of an error: the request is not answered yet."""
LEADER, FOLLOWER = "a-1", "b-2"
SESSION_MS, REBALANCE_MS = 10_000, 60_000
GENERATION = 2
T0 = ("t", 0)


def completing(fixture: GroupFixture) -> None:
    fixture.join(client_id="a")
    fixture.join(client_id="b")
    fixture.join(LEADER)


def stable(fixture: GroupFixture) -> None:
    assert fixture.stable("a", "b") == [LEADER, FOLLOWER]


def preparing(fixture: GroupFixture) -> None:
    stable(fixture)
    fixture.join(client_id="c")


def empty(fixture: GroupFixture) -> None:
    stable(fixture)
    fixture.leave(LEADER, FOLLOWER)


REACHED: dict[str, Callable[[GroupFixture], None]] = {
    EMPTY: empty,
    PREPARING: preparing,
    COMPLETING: completing,
    STABLE: stable,
    DEAD: lambda _fixture: None,  # what clients are told of a group that does not exist
}


def reach(fixture: GroupFixture, state: str) -> None:
    REACHED[state](fixture)
    assert fixture.describe_state() == state


# --- from one state to another


def test_empty_to_preparing_rebalance() -> None:
    fixture = GroupFixture(with_defaults(GroupCoordinatorConfig, initial_rebalance_delay_ms=3000))
    fixture.join(client_id="a")
    assert fixture.describe_state() == PREPARING


def test_empty_to_dead(fixture: GroupFixture) -> None:
    reach(fixture, EMPTY)
    assert fixture.coordinator.delete(GROUP).value == NONE
    assert fixture.describe_state() == DEAD


def test_preparing_rebalance_to_completing_rebalance_when_all_have_joined(fixture: GroupFixture) -> None:
    reach(fixture, PREPARING)
    fixture.join(LEADER)
    assert fixture.describe_state() == PREPARING
    fixture.join(FOLLOWER)
    assert fixture.describe_state() == COMPLETING


def test_preparing_rebalance_to_completing_rebalance_when_time_is_up(fixture: GroupFixture) -> None:
    reach(fixture, PREPARING)
    for _ in range(7):
        fixture.clock.advance(SESSION_MS - 1)
        fixture.heartbeat(LEADER, GENERATION)
        fixture.heartbeat(FOLLOWER, GENERATION)
    assert fixture.describe_state() == COMPLETING


def test_preparing_rebalance_to_empty_when_all_leave(fixture: GroupFixture) -> None:
    reach(fixture, STABLE)
    fixture.join(LEADER)
    assert fixture.describe_state() == PREPARING
    fixture.leave(LEADER, FOLLOWER)
    assert fixture.describe_state() == EMPTY


def test_preparing_rebalance_to_empty_when_all_sessions_end(fixture: GroupFixture) -> None:
    reach(fixture, STABLE)
    fixture.clock.advance(SESSION_MS)
    assert fixture.describe_state() == EMPTY


def test_completing_rebalance_to_stable(fixture: GroupFixture) -> None:
    reach(fixture, COMPLETING)
    fixture.sync(LEADER, GENERATION, {})
    assert fixture.describe_state() == STABLE


def test_completing_rebalance_to_preparing_rebalance_when_nobody_syncs(fixture: GroupFixture) -> None:
    reach(fixture, COMPLETING)
    fixture.sync(FOLLOWER, GENERATION)
    for _ in range(7):
        fixture.clock.advance(SESSION_MS - 1)
        fixture.heartbeat(LEADER, GENERATION)
    assert fixture.describe_state() == PREPARING


def test_completing_rebalance_to_preparing_rebalance_when_the_assignment_is_not_written(
    fixture: GroupFixture,
) -> None:
    reach(fixture, COMPLETING)
    fixture.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    fixture.sync(LEADER, GENERATION, {})
    assert fixture.describe_state() == PREPARING


def test_stable_to_preparing_rebalance_when_a_member_leaves(fixture: GroupFixture) -> None:
    reach(fixture, STABLE)
    fixture.leave(FOLLOWER)
    assert fixture.describe_state() == PREPARING


@pytest.mark.parametrize("state", [EMPTY, PREPARING, COMPLETING, STABLE])
def test_each_state_to_dead_when_another_coordinates_the_group(fixture: GroupFixture, state: str) -> None:
    reach(fixture, state)
    for partition, _ in list(fixture.coordinator.runtime.active()):
        fixture.coordinator.unload(partition, leader_epoch=fixture.epoch + 1)
    assert fixture.heartbeat(LEADER, GENERATION) == ErrorCode.NOT_COORDINATOR
    assert fixture.group() is None


@pytest.mark.parametrize(
    ("previous", "state"),
    [
        (EMPTY, COMPLETING),
        (EMPTY, STABLE),
        (PREPARING, STABLE),
        (COMPLETING, EMPTY),
        (STABLE, EMPTY),
        (STABLE, COMPLETING),
        *((DEAD, state) for state in (EMPTY, PREPARING, COMPLETING, STABLE)),
    ],
)
def test_what_follows_nothing(previous: str, state: str) -> None:
    assert not ClassicState(state).may_follow(ClassicState(previous))


# --- what each request finds


@pytest.mark.parametrize(
    ("state", "error", "after"),
    [
        (EMPTY, NONE, COMPLETING),
        (PREPARING, PARKED, PREPARING),
        (COMPLETING, PARKED, PREPARING),
        (STABLE, PARKED, PREPARING),
        (DEAD, NONE, COMPLETING),
    ],
)
def test_a_new_member_joins(fixture: GroupFixture, state: str, error: ErrorCode | None, after: str) -> None:
    reach(fixture, state)
    joining = fixture.join(client_id="new")
    assert (joining.value.error if joining.done else PARKED) == error
    assert fixture.describe_state() == after


@pytest.mark.parametrize(
    ("state", "leader", "after_leader", "follower", "after_follower"),
    [
        (EMPTY, UNKNOWN, EMPTY, UNKNOWN, EMPTY),
        (PREPARING, PARKED, PREPARING, PARKED, PREPARING),
        (COMPLETING, NONE, COMPLETING, NONE, COMPLETING),
        (STABLE, PARKED, PREPARING, NONE, STABLE),
        (DEAD, UNKNOWN, DEAD, UNKNOWN, DEAD),
    ],
)
def test_a_member_joins_again_unchanged(
    state: str,
    leader: ErrorCode | None,
    after_leader: str,
    follower: ErrorCode | None,
    after_follower: str,
) -> None:
    for member, error, after in ((LEADER, leader, after_leader), (FOLLOWER, follower, after_follower)):
        fixture = GroupFixture()
        reach(fixture, state)
        joining = fixture.join(member)
        assert (joining.value.error if joining.done else PARKED) == error
        assert fixture.describe_state() == after
        fixture.check_invariants()


@pytest.mark.parametrize(
    ("state", "error", "after"),
    [
        (EMPTY, UNKNOWN, EMPTY),
        (PREPARING, PARKED, PREPARING),
        (COMPLETING, PARKED, PREPARING),
        (STABLE, PARKED, PREPARING),
        (DEAD, UNKNOWN, DEAD),
    ],
)
def test_a_follower_joins_again_with_another_subscription(
    fixture: GroupFixture, state: str, error: ErrorCode | None, after: str
) -> None:
    reach(fixture, state)
    joining = fixture.join(FOLLOWER, protocols=(("range", b"other"),))
    assert (joining.value.error if joining.done else PARKED) == error
    assert fixture.describe_state() == after


@pytest.mark.parametrize(
    ("state", "error"),
    [(EMPTY, UNKNOWN), (PREPARING, REBALANCE), (COMPLETING, PARKED), (STABLE, NONE), (DEAD, UNKNOWN)],
)
def test_a_follower_syncs(fixture: GroupFixture, state: str, error: ErrorCode | None) -> None:
    reach(fixture, state)
    syncing = fixture.sync(FOLLOWER, GENERATION)
    assert (syncing.value.error if syncing.done else PARKED) == error
    assert fixture.describe_state() == state


@pytest.mark.parametrize(
    ("state", "error"),
    [(EMPTY, UNKNOWN), (PREPARING, REBALANCE), (COMPLETING, NONE), (STABLE, NONE), (DEAD, UNKNOWN)],
)
def test_a_member_heartbeats(fixture: GroupFixture, state: str, error: ErrorCode) -> None:
    reach(fixture, state)
    assert fixture.heartbeat(FOLLOWER, GENERATION) == error
    assert fixture.describe_state() == state


@pytest.mark.parametrize(
    ("state", "error", "after"),
    [
        (EMPTY, UNKNOWN, EMPTY),
        (PREPARING, NONE, PREPARING),
        (COMPLETING, NONE, PREPARING),
        (STABLE, NONE, PREPARING),
        (DEAD, UNKNOWN, DEAD),
    ],
)
def test_a_member_leaves(fixture: GroupFixture, state: str, error: ErrorCode, after: str) -> None:
    reach(fixture, state)
    answer = fixture.leave(FOLLOWER).value
    assert [told for _, told in answer.members] == [error]
    assert fixture.describe_state() == after


@pytest.mark.parametrize("state", [PREPARING, COMPLETING, STABLE])
def test_the_session_of_a_member_ends(fixture: GroupFixture, state: str) -> None:
    reach(fixture, state)
    fixture.clock.advance(SESSION_MS - 1)
    fixture.heartbeat(LEADER, GENERATION)
    fixture.clock.advance(1)
    assert fixture.heartbeat(FOLLOWER, GENERATION) == UNKNOWN
    assert fixture.describe_state() == PREPARING


@pytest.mark.parametrize(
    ("state", "by_a_member", "by_nobody"),
    [
        (EMPTY, UNKNOWN, NONE),
        (PREPARING, NONE, UNKNOWN),
        (COMPLETING, REBALANCE, UNKNOWN),
        (STABLE, NONE, UNKNOWN),
        (DEAD, ErrorCode.GROUP_ID_NOT_FOUND, NONE),
    ],
)
def test_a_commit(fixture: GroupFixture, state: str, by_a_member: ErrorCode, by_nobody: ErrorCode) -> None:
    reach(fixture, state)
    assert fixture.commit({T0: 5}, FOLLOWER, GENERATION).value == {T0: by_a_member}
    assert fixture.commit({T0: 5}).value == {T0: by_nobody}


@pytest.mark.parametrize("state", [PREPARING, COMPLETING, STABLE])
def test_a_group_with_members_is_not_deleted(fixture: GroupFixture, state: str) -> None:
    reach(fixture, state)
    assert fixture.coordinator.delete(GROUP).value == ErrorCode.NON_EMPTY_GROUP
    assert fixture.describe_state() == state
