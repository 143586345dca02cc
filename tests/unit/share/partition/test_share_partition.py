"""A share partition over its life: a leader before, locks that end, a log that loses its head."""

from __future__ import annotations

import pytest

from kcompat.share.batches import StateBatch
from kcompat.share.partition.in_flight import Change
from kcompat.share.partition.share_partition import DamagedStateError, SharePartition
from support.current import current
from support.share_partition_world import ACCEPT, LOCK_MS, RELEASE, SharePartitionWorld

AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4


def test_a_fresh_share_partition_begins_at_its_start() -> None:
    partition = SharePartition(0, 0, 5, ())
    assert (partition.start_offset, partition.end_offset, partition.next_fetch_offset) == (5, 5, 5)


def test_what_is_done_with_at_the_start_is_passed() -> None:
    stored = (
        StateBatch(0, 4, ACKNOWLEDGED, 1),
        StateBatch(5, 6, ARCHIVED, 3),
        StateBatch(7, 9, AVAILABLE, 2),
    )
    partition = SharePartition(0, 0, 0, stored)
    assert (partition.start_offset, partition.end_offset, partition.next_fetch_offset) == (7, 10, 7)
    done = SharePartition(0, 0, 0, stored[:2])
    assert (done.start_offset, done.end_offset, done.next_fetch_offset) == (7, 7, 7)


@pytest.mark.parametrize(
    "stored",
    [
        [StateBatch(3, 4, ACKNOWLEDGED, 1)],
        [StateBatch(9, 8, ACKNOWLEDGED, 1)],
        [StateBatch(5, 9, ACKNOWLEDGED, 1), StateBatch(9, 10, ACKNOWLEDGED, 1)],
        [StateBatch(5, 9, 1, 1)],
        [StateBatch(5, 9, 7, 1)],
    ],
)
def test_what_cannot_be_stored_is_not_believed(stored: list[StateBatch]) -> None:
    with pytest.raises(DamagedStateError):
        SharePartition(0, 0, 5, stored)


def test_locks_end_one_after_the_other() -> None:
    world = SharePartitionWorld(delivery_count_limit=2)
    world.fetch((0, 4))
    world.now_ms = 100
    world.fetch((5, 9))
    assert world.partition.expire(world.limits, LOCK_MS - 1) == []
    assert world.partition.expire(world.limits, LOCK_MS) == [StateBatch(0, 4, AVAILABLE, 1)]
    assert current(world.partition.lock_ends_ms) == LOCK_MS + 100
    world.now_ms = LOCK_MS
    world.fetch((0, 4))
    stored = world.partition.expire(world.limits, 2 * LOCK_MS)
    assert stored == [StateBatch(0, 4, ARCHIVED, 2), StateBatch(5, 9, AVAILABLE, 1)]
    assert (world.partition.start_offset, world.partition.lock_ends_ms) == (5, None)


def test_records_below_the_log_start_are_done_with() -> None:
    world = SharePartitionWorld()
    world.fetch((0, 4))
    world.fetch((5, 9))
    world.say(3, 4, RELEASE)
    under_way = world.begin(5, 6, RELEASE)
    world.partition.log_starts_at(6)
    world.partition.check_invariants()
    assert (world.partition.start_offset, world.partition.end_offset) == (6, 10)
    assert world.partition.next_fetch_offset == 10
    assert isinstance(under_way, Change)
    world.settle(under_way)
    assert world.partition.next_fetch_offset == 6
    world.partition.log_starts_at(3)
    assert world.partition.start_offset == 6
    world.partition.log_starts_at(50)
    assert (world.partition.start_offset, world.partition.next_fetch_offset) == (50, 50)


def test_a_log_start_beside_what_is_done_with_is_passed() -> None:
    world = SharePartitionWorld()
    world.fetch((0, 9))
    world.say(5, 7, ACCEPT)
    world.partition.log_starts_at(4)
    assert world.partition.start_offset == 4
    world.partition.log_starts_at(5)
    assert world.partition.start_offset == 8
