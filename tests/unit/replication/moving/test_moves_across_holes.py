"""Moves of a replica in whose log a power cut has left a hole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.control_requests import Role
from kcompat.protocol.constants import NO_LEADER
from kcompat.protocol.errors import ErrorCode
from support.replica_moves import ME, ONE, OTHER, SLOW, THREE, TWO, MovesFixture, append, begun, values_of

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.replication.partition import Partition

UNTIL_THEN = Role(leader=OTHER, leader_epoch=0, isr=(OTHER,), replicas=(ME, OTHER))
NO_LEADER_ROLE = Role(leader=NO_LEADER, leader_epoch=1, isr=(OTHER,), replicas=(ME, OTHER))
FOLLOWS = Role(leader=OTHER, leader_epoch=2, isr=(OTHER,), replicas=(ME, OTHER))
LEADS = Role(leader=ME, leader_epoch=2, isr=(ME,), replicas=(ME, OTHER))
FOUR = b"4" * 100


def create(fixture: MovesFixture, role: Role) -> Partition:
    """Return a compacted partition each of whose batches has a segment of its own."""
    return fixture.create(role=role, cleanup_policy="compact", segment_bytes="200")


def after_the_power_cut(home: Path, lost: int, role: Role) -> tuple[MovesFixture, Partition]:
    """The next life of the broker, whose log has lost one batch."""
    (home / "a" / "t-0" / f"{lost:020d}.log").write_bytes(b"")
    fixture = MovesFixture(home, seed=1)
    return fixture, create(fixture, role)


def with_a_hole(home: Path) -> tuple[MovesFixture, Partition]:
    """Return a partition without a leader whose log lost the second of three batches."""
    fixture = MovesFixture(home)
    append(create(fixture, UNTIL_THEN), ONE, TWO, THREE, epoch=0)
    fixture.crash()
    fixture, partition = after_the_power_cut(home, 1, NO_LEADER_ROLE)
    assert (partition.log.hole, partition.log.log_end_offset) == (1, 3)
    return fixture, partition


def test_nothing_is_copied_before_it_is_known_what_becomes_of_the_hole(tmp_path: Path) -> None:
    """The log that takes the place would not know of it, and keep it where this broker follows."""
    fixture, partition = with_a_hole(tmp_path)
    assert fixture.moves.move("t", 0, fixture.b) == ErrorCode.NONE
    fixture.clock.advance(1_000)
    fixture.moves.look_after()
    fixture.clock.advance(1_000)
    assert (fixture.names(), partition.log.hole) == (["a/t-0", "b/t-0 future"], 1)
    assert not fixture.replicas.take_role("t", 0, FOLLOWS)
    append(partition, FOUR, epoch=2)
    fixture.clock.advance(1_000)
    assert fixture.names() == ["a/t-0 delete", "b/t-0"]
    assert values_of(partition) == [ONE, FOUR]
    fixture.check(partition)
    fixture.stop()


@pytest.mark.leaves_gaps("compaction may have removed what is missing")
def test_a_hole_that_stays_does_not_hold_up_a_move(tmp_path: Path) -> None:
    fixture, partition = with_a_hole(tmp_path)
    assert fixture.moves.move("t", 0, fixture.b) == ErrorCode.NONE
    assert not fixture.replicas.take_role("t", 0, LEADS)
    fixture.clock.advance(1_000)
    assert fixture.names() == ["a/t-0 delete", "b/t-0"]
    assert values_of(partition) == [ONE, THREE]
    fixture.check(partition)
    fixture.stop()


@pytest.mark.parametrize("roles", [(NO_LEADER_ROLE, FOLLOWS), (FOLLOWS,)])
def test_a_copy_that_was_begun_before_keeps_nothing_that_its_log_has_lost(
    tmp_path: Path, roles: tuple[Role, ...]
) -> None:
    """The cluster may have gone on with something else."""
    fixture = MovesFixture(tmp_path, bytes_per_second=SLOW)
    partition = create(fixture, UNTIL_THEN)
    append(partition, ONE, TWO, epoch=0)
    begun(fixture, partition)
    fixture.crash()
    fixture, partition = after_the_power_cut(tmp_path, 0, roles[0])
    for role in roles[1:]:
        fixture.clock.advance(1_000)
        assert not fixture.replicas.take_role("t", 0, role)
    append(partition, FOUR, epoch=2)
    fixture.clock.advance(1_000)
    fixture.moves.look_after()
    fixture.clock.advance(1_000)
    assert fixture.names() == ["a/t-0 delete", "b/t-0"]
    assert values_of(partition) == [FOUR]
    fixture.check(partition)
    fixture.stop()
