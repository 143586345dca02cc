"""A partition on a disk, as its fetcher sees it: records, high watermark and log start of a leader."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.control_requests import Role
from kcompat.log.errors import StorageError
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from kcompat.replication.following.follower_partition import FollowerPartition
from kcompat.replication.reading import FetchSpec, PartitionReader
from support.replica_logs import batch_of

from ..conftest import ME

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.replication.partition import Partition
    from support.virtual_clock import VirtualClock

LEADER = 2
FOLLOWS = Role(leader=LEADER, leader_epoch=3, isr=(LEADER,), replicas=(ME, LEADER))


@pytest.fixture
def partition(make_partition: Callable[..., Partition]) -> Partition:
    return make_partition(role=FOLLOWS)


@pytest.fixture
def following(partition: Partition, clock: VirtualClock) -> FollowerPartition:
    return FollowerPartition(partition, clock)


def sent(*offsets: int, epoch: int = 3) -> memoryview:
    return memoryview(bytearray(b"".join(batch_of(offset, epoch) for offset in offsets)))


def test_it_takes_what_the_leader_sends(following: FollowerPartition, partition: Partition) -> None:
    assert following.append(sent(0, 1, 2), 3) == ErrorCode.NONE
    following.update_bounds(2, 1)
    assert (following.log_start_offset, following.log_end_offset, following.high_watermark) == (1, 3, 2)
    assert following.latest_epoch == 3
    assert following.end_offset_for_epoch(3) == (3, 3)
    partition.check_invariants()


def test_the_high_watermark_goes_no_further_than_the_log_and_falls_only_with_it(
    following: FollowerPartition, partition: Partition
) -> None:
    following.append(sent(0, 1), 3)
    following.update_bounds(5, 0)
    assert following.high_watermark == 2
    following.update_bounds(1, 0)
    assert following.high_watermark == 2
    following.truncate_to(1)
    assert (following.high_watermark, following.log_end_offset) == (1, 1)
    partition.check_invariants()


def test_the_log_start_goes_no_further_than_the_high_watermark(following: FollowerPartition) -> None:
    following.append(sent(0, 1, 2), 3)
    following.update_bounds(1, 2)
    assert following.log_start_offset == 1


def test_consumers_read_what_is_committed(
    following: FollowerPartition, partition: Partition, clock: VirtualClock
) -> None:
    """KIP-392: those that know of it, in the epoch that this replica follows."""
    following.append(sent(0, 1, 2), 3)
    following.update_bounds(2, 0)
    old, new = PartitionReader(), PartitionReader(leader_only=False)
    assert partition.fetch(FetchSpec(0, 1000), old, 1000, True).error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    found = partition.fetch(FetchSpec(0, 1000, leader_epoch=3), new, 1000, True)
    assert (found.error, found.high_watermark, len(found.records)) == (0, 2, 2 * len(batch_of(0, 3)))
    assert len(partition.fetch(FetchSpec(2, 1000), new, 1000, True).records) == 0
    errors = [
        partition.fetch(FetchSpec(offset, 1000, epoch), new, 1000, True).error
        for offset, epoch in ((4, 3), (0, 2), (0, 4))
    ]
    assert errors == [
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    ]


def test_a_replica_without_a_role_is_not_read(make_partition: Callable[..., Partition]) -> None:
    partition = make_partition("none", role=None)
    reader = PartitionReader(leader_only=False)
    assert partition.fetch(FetchSpec(0, 100), reader, 100, True).error == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_an_empty_log_starts_inside_a_batch_of_the_leader(following: FollowerPartition) -> None:
    """The records before that were deleted at the leader; its batch is still whole."""
    following.truncate_fully_and_start_at(5)
    records = [Record(at, 1000, None, b"v") for at in range(4)]
    batch = memoryview(build_batch(records, base_offset=3, leader_epoch=3))
    assert following.append(batch, 3) == ErrorCode.NONE
    following.update_bounds(7, 5)
    assert (following.log_start_offset, following.log_end_offset, following.high_watermark) == (5, 7, 7)


def test_records_that_do_not_belong_there_are_refused(following: FollowerPartition) -> None:
    following.append(sent(0, 1), 3)
    assert following.append(sent(1), 3) == ErrorCode.OFFSET_OUT_OF_RANGE
    damaged = sent(2)
    damaged[-1] ^= 1
    assert following.append(damaged, 3) == ErrorCode.CORRUPT_MESSAGE
    following.truncate_fully_and_start_at(9)
    assert following.append(sent(2), 3) == ErrorCode.OFFSET_OUT_OF_RANGE
    assert following.log_end_offset == 9


def test_a_later_epoch_than_the_leaders_is_left_out(following: FollowerPartition) -> None:
    """The fault was once Kafka's own (KAFKA-18723)."""
    assert following.append(memoryview(bytearray(batch_of(0, 3) + batch_of(1, 4))), 3) == ErrorCode.NONE
    assert (following.log_end_offset, following.latest_epoch) == (1, 3)


def test_a_cut_at_the_log_end_forgets_epochs_that_begin_there(
    following: FollowerPartition, partition: Partition
) -> None:
    """KAFKA-10706: epochs in which this broker led without a record being written."""
    following.append(sent(0, 1), 3)
    partition.log.epochs.begin(5, 2)
    following.truncate_to(2)
    assert following.latest_epoch == 3


def test_a_cut_that_removes_nothing_makes_no_files(
    following: FollowerPartition, partition: Partition
) -> None:
    before = partition.log.is_made
    following.truncate_to(0)
    assert partition.log.is_made is before


def test_a_failed_disk_is_said_even_where_nothing_is_to_be_written(
    following: FollowerPartition, partition: Partition
) -> None:
    partition.log.context.fault(OSError(errno.EIO, "Input/output error"))
    with pytest.raises(StorageError):
        following.update_bounds(0, 0)
