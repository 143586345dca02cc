"""The states of a classic group: what leads from one to another, and what each request finds in each (Kafka's
`ClassicGroup` and `GroupMetadataManager`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.group.kinds.classic.state import ClassicState
from kcompat.protocol.errors import ErrorCode
from support.group_world import GROUP, GroupWorld

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


def completing(world: GroupWorld) -> None:
    world.join(client_id="a")
    world.join(client_id="b")
    world.join(LEADER)


def stable(world: GroupWorld) -> None:
    assert world.stable("a", "b") == [LEADER, FOLLOWER]


def preparing(world: GroupWorld) -> None:
    stable(world)
    world.join(client_id="c")


def empty(world: GroupWorld) -> None:
    stable(world)
    world.leave(LEADER, FOLLOWER)


REACHED: dict[str, Callable[[GroupWorld], None]] = {
    EMPTY: empty,
    PREPARING: preparing,
    COMPLETING: completing,
    STABLE: stable,
    DEAD: lambda _world: None,  # what clients are told of a group that does not exist
}


def reach(world: GroupWorld, state: str) -> None:
    REACHED[state](world)
    assert world.describe_state() == state


# --- from one state to another


def test_empty_to_preparing_rebalance() -> None:
    world = GroupWorld(GroupCoordinatorConfig(initial_rebalance_delay_ms=3000))
    world.join(client_id="a")
    assert world.describe_state() == PREPARING


def test_empty_to_dead(world: GroupWorld) -> None:
    reach(world, EMPTY)
    assert world.coordinator.delete(GROUP).value == NONE
    assert world.describe_state() == DEAD


def test_preparing_rebalance_to_completing_rebalance_when_all_have_joined(world: GroupWorld) -> None:
    reach(world, PREPARING)
    world.join(LEADER)
    assert world.describe_state() == PREPARING
    world.join(FOLLOWER)
    assert world.describe_state() == COMPLETING


def test_preparing_rebalance_to_completing_rebalance_when_time_is_up(world: GroupWorld) -> None:
    reach(world, PREPARING)
    for _ in range(7):
        world.clock.advance(SESSION_MS - 1)
        world.heartbeat(LEADER, GENERATION)
        world.heartbeat(FOLLOWER, GENERATION)
    assert world.describe_state() == COMPLETING


def test_preparing_rebalance_to_empty_when_all_leave(world: GroupWorld) -> None:
    reach(world, STABLE)
    world.join(LEADER)
    assert world.describe_state() == PREPARING
    world.leave(LEADER, FOLLOWER)
    assert world.describe_state() == EMPTY


def test_preparing_rebalance_to_empty_when_all_sessions_end(world: GroupWorld) -> None:
    reach(world, STABLE)
    world.clock.advance(SESSION_MS)
    assert world.describe_state() == EMPTY


def test_completing_rebalance_to_stable(world: GroupWorld) -> None:
    reach(world, COMPLETING)
    world.sync(LEADER, GENERATION, {})
    assert world.describe_state() == STABLE


def test_completing_rebalance_to_preparing_rebalance_when_nobody_syncs(world: GroupWorld) -> None:
    reach(world, COMPLETING)
    world.sync(FOLLOWER, GENERATION)
    for _ in range(7):
        world.clock.advance(SESSION_MS - 1)
        world.heartbeat(LEADER, GENERATION)
    assert world.describe_state() == PREPARING


def test_completing_rebalance_to_preparing_rebalance_when_the_assignment_is_not_written(
    world: GroupWorld,
) -> None:
    reach(world, COMPLETING)
    world.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    world.sync(LEADER, GENERATION, {})
    assert world.describe_state() == PREPARING


def test_stable_to_preparing_rebalance_when_a_member_leaves(world: GroupWorld) -> None:
    reach(world, STABLE)
    world.leave(FOLLOWER)
    assert world.describe_state() == PREPARING


@pytest.mark.parametrize("state", [EMPTY, PREPARING, COMPLETING, STABLE])
def test_each_state_to_dead_when_another_coordinates_the_group(world: GroupWorld, state: str) -> None:
    reach(world, state)
    for partition, _ in list(world.coordinator.runtime.active()):
        world.coordinator.unload(partition, leader_epoch=world.epoch + 1)
    assert world.heartbeat(LEADER, GENERATION) == ErrorCode.NOT_COORDINATOR
    assert world.group() is None


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
def test_a_new_member_joins(world: GroupWorld, state: str, error: ErrorCode | None, after: str) -> None:
    reach(world, state)
    joining = world.join(client_id="new")
    assert (joining.value.error if joining.done else PARKED) == error
    assert world.describe_state() == after


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
        world = GroupWorld()
        reach(world, state)
        joining = world.join(member)
        assert (joining.value.error if joining.done else PARKED) == error
        assert world.describe_state() == after
        world.check_invariants()


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
    world: GroupWorld, state: str, error: ErrorCode | None, after: str
) -> None:
    reach(world, state)
    joining = world.join(FOLLOWER, protocols=(("range", b"other"),))
    assert (joining.value.error if joining.done else PARKED) == error
    assert world.describe_state() == after


@pytest.mark.parametrize(
    ("state", "error"),
    [(EMPTY, UNKNOWN), (PREPARING, REBALANCE), (COMPLETING, PARKED), (STABLE, NONE), (DEAD, UNKNOWN)],
)
def test_a_follower_syncs(world: GroupWorld, state: str, error: ErrorCode | None) -> None:
    reach(world, state)
    syncing = world.sync(FOLLOWER, GENERATION)
    assert (syncing.value.error if syncing.done else PARKED) == error
    assert world.describe_state() == state


@pytest.mark.parametrize(
    ("state", "error"),
    [(EMPTY, UNKNOWN), (PREPARING, REBALANCE), (COMPLETING, NONE), (STABLE, NONE), (DEAD, UNKNOWN)],
)
def test_a_member_heartbeats(world: GroupWorld, state: str, error: ErrorCode) -> None:
    reach(world, state)
    assert world.heartbeat(FOLLOWER, GENERATION) == error
    assert world.describe_state() == state


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
def test_a_member_leaves(world: GroupWorld, state: str, error: ErrorCode, after: str) -> None:
    reach(world, state)
    answer = world.leave(FOLLOWER).value
    assert [told for _, told in answer.members] == [error]
    assert world.describe_state() == after


@pytest.mark.parametrize("state", [PREPARING, COMPLETING, STABLE])
def test_the_session_of_a_member_ends(world: GroupWorld, state: str) -> None:
    reach(world, state)
    world.clock.advance(SESSION_MS - 1)
    world.heartbeat(LEADER, GENERATION)
    world.clock.advance(1)
    assert world.heartbeat(FOLLOWER, GENERATION) == UNKNOWN
    assert world.describe_state() == PREPARING


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
def test_a_commit(world: GroupWorld, state: str, by_a_member: ErrorCode, by_nobody: ErrorCode) -> None:
    reach(world, state)
    assert world.commit({T0: 5}, FOLLOWER, GENERATION).value == {T0: by_a_member}
    assert world.commit({T0: 5}).value == {T0: by_nobody}


@pytest.mark.parametrize("state", [PREPARING, COMPLETING, STABLE])
def test_a_group_with_members_is_not_deleted(world: GroupWorld, state: str) -> None:
    reach(world, state)
    assert world.coordinator.delete(GROUP).value == ErrorCode.NON_EMPTY_GROUP
    assert world.describe_state() == state
