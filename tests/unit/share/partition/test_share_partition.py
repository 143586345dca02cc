"""A share partition over its life: a leader before, locks that end, a log that loses its head."""

from __future__ import annotations

import pytest

from kcompat.share.batches import StateBatch
from kcompat.share.partition.in_flight import SpanChange
from kcompat.share.partition.share_partition import DamagedStateError, SharePartition
from support.current import current
from support.share_partitions import ACCEPT, LOCK_MS, RELEASE, SharePartitionFixture

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
    fixture = SharePartitionFixture(delivery_count_limit=2)
    fixture.fetch((0, 4))
    fixture.now_ms = 100
    fixture.fetch((5, 9))
    assert fixture.partition.expire(fixture.limits, LOCK_MS - 1) == []
    assert fixture.partition.expire(fixture.limits, LOCK_MS) == [StateBatch(0, 4, AVAILABLE, 1)]
    assert current(fixture.partition.lock_ends_ms) == LOCK_MS + 100
    fixture.now_ms = LOCK_MS
    fixture.fetch((0, 4))
    stored = fixture.partition.expire(fixture.limits, 2 * LOCK_MS)
    assert stored == [StateBatch(0, 4, ARCHIVED, 2), StateBatch(5, 9, AVAILABLE, 1)]
    assert (fixture.partition.start_offset, fixture.partition.lock_ends_ms) == (5, None)


def test_records_below_the_log_start_are_done_with() -> None:
    fixture = SharePartitionFixture()
    fixture.fetch((0, 4))
    fixture.fetch((5, 9))
    fixture.say(3, 4, RELEASE)
    under_way = fixture.begin(5, 6, RELEASE)
    fixture.partition.log_starts_at(6)
    fixture.partition.check_invariants()
    assert (fixture.partition.start_offset, fixture.partition.end_offset) == (6, 10)
    assert fixture.partition.next_fetch_offset == 10
    assert isinstance(under_way, SpanChange)
    fixture.settle(under_way)
    assert fixture.partition.next_fetch_offset == 6
    fixture.partition.log_starts_at(3)
    assert fixture.partition.start_offset == 6
    fixture.partition.log_starts_at(50)
    assert (fixture.partition.start_offset, fixture.partition.next_fetch_offset) == (50, 50)


def test_a_log_start_beside_what_is_done_with_is_passed() -> None:
    fixture = SharePartitionFixture()
    fixture.fetch((0, 9))
    fixture.say(5, 7, ACCEPT)
    fixture.partition.log_starts_at(4)
    assert fixture.partition.start_offset == 4
    fixture.partition.log_starts_at(5)
    assert fixture.partition.start_offset == 8
