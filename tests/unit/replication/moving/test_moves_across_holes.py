"""Moves of a replica in whose log a power cut has left a hole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.news import Role
from kcompat.protocol.constants import NO_LEADER
from kcompat.protocol.errors import ErrorCode
from support.moves_world import ME, ONE, OTHER, SLOW, THREE, TWO, MovesWorld, append, begun, values_of

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.replication.partition import Partition

UNTIL_THEN = Role(leader=OTHER, leader_epoch=0, isr=(OTHER,), replicas=(ME, OTHER))
NOBODY = Role(leader=NO_LEADER, leader_epoch=1, isr=(OTHER,), replicas=(ME, OTHER))
FOLLOWS = Role(leader=OTHER, leader_epoch=2, isr=(OTHER,), replicas=(ME, OTHER))
LEADS = Role(leader=ME, leader_epoch=2, isr=(ME,), replicas=(ME, OTHER))
FOUR = b"4" * 100


def create(world: MovesWorld, role: Role) -> Partition:
    """Return a compacted partition each of whose batches has a segment of its own."""
    return world.create(role=role, cleanup_policy="compact", segment_bytes="200")


def after_the_power_cut(home: Path, lost: int, role: Role) -> tuple[MovesWorld, Partition]:
    """The next life of the broker, whose log has lost one batch."""
    (home / "a" / "t-0" / f"{lost:020d}.log").write_bytes(b"")
    world = MovesWorld(home, seed=1)
    return world, create(world, role)


def with_a_hole(home: Path) -> tuple[MovesWorld, Partition]:
    """Of three batches the second was lost, and nobody leads yet."""
    world = MovesWorld(home)
    append(create(world, UNTIL_THEN), ONE, TWO, THREE, epoch=0)
    world.crash()
    world, partition = after_the_power_cut(home, 1, NOBODY)
    assert (partition.log.hole, partition.log.log_end_offset) == (1, 3)
    return world, partition


def test_nothing_is_copied_before_it_is_known_what_becomes_of_the_hole(tmp_path: Path) -> None:
    """The log that takes the place would not know of it, and keep it where this broker follows."""
    world, partition = with_a_hole(tmp_path)
    assert world.moves.move("t", 0, world.b) == ErrorCode.NONE
    world.clock.advance(1_000)
    world.moves.look_after()
    world.clock.advance(1_000)
    assert (world.names(), partition.log.hole) == (["a/t-0", "b/t-0 future"], 1)
    assert not world.replicas.take_role("t", 0, FOLLOWS)
    append(partition, FOUR, epoch=2)
    world.clock.advance(1_000)
    assert world.names() == ["a/t-0 delete", "b/t-0"]
    assert values_of(partition) == [ONE, FOUR]
    world.check(partition)
    world.stop()


@pytest.mark.leaves_gaps("compaction may have removed what is missing")
def test_a_hole_that_stays_does_not_hold_up_a_move(tmp_path: Path) -> None:
    world, partition = with_a_hole(tmp_path)
    assert world.moves.move("t", 0, world.b) == ErrorCode.NONE
    assert not world.replicas.take_role("t", 0, LEADS)
    world.clock.advance(1_000)
    assert world.names() == ["a/t-0 delete", "b/t-0"]
    assert values_of(partition) == [ONE, THREE]
    world.check(partition)
    world.stop()


@pytest.mark.parametrize("roles", [(NOBODY, FOLLOWS), (FOLLOWS,)])
def test_a_copy_that_was_begun_before_keeps_nothing_that_its_log_has_lost(
    tmp_path: Path, roles: tuple[Role, ...]
) -> None:
    """The cluster may have gone on with something else."""
    world = MovesWorld(tmp_path, bytes_per_second=SLOW)
    partition = create(world, UNTIL_THEN)
    append(partition, ONE, TWO, epoch=0)
    begun(world, partition)
    world.crash()
    world, partition = after_the_power_cut(tmp_path, 0, roles[0])
    for role in roles[1:]:
        world.clock.advance(1_000)
        assert not world.replicas.take_role("t", 0, role)
    append(partition, FOUR, epoch=2)
    world.clock.advance(1_000)
    world.moves.look_after()
    world.clock.advance(1_000)
    assert world.names() == ["a/t-0 delete", "b/t-0"]
    assert values_of(partition) == [FOUR]
    world.check(partition)
    world.stop()
