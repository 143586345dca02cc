"""A producer has several batches under way. What is sent behind a batch that was refused for a reason that
passes is refused for that reason, and not for the gap, so that the producer sends all of them again in order.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from kcompat.cluster.control_requests import Role
from kcompat.log.append import AppendResult
from kcompat.log.context import LogContext
from kcompat.log.refusals import MOST_RUNS, Refusals
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import read_header
from kcompat.replication.leading.leader import FETCH_GRACE_MS
from kcompat.replication.reading import FetchSpec, PartitionReader
from kcompat.replication.replica_manager import MAX_FETCH_WAIT_MS, MOST_AWAITED
from support.faulty_files import FaultyFiles
from support.log_harness import make_batch

from .conftest import ME

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kcompat.records.batch import BatchHeader
    from kcompat.replication.partition import Partition
    from kcompat.replication.replica_manager import ReplicaManager

OTHER = 2
NOW_MS = 5000
FOLLOWS = Role(leader=OTHER, leader_epoch=3, isr=(ME, OTHER), replicas=(ME, OTHER))
LEADS = Role(leader=ME, leader_epoch=4, isr=(ME,), replicas=(ME, OTHER))
DOES_NOT_LEAD = ErrorCode.NOT_LEADER_OR_FOLLOWER
GAP = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def send(partition: Partition, sequence: int, count: int = 1, epoch: int = 0, acks: int = -1) -> int:
    """Append a batch of a producer; return the error, or NONE."""
    batch = memoryview(make_batch(count, producer_id=7, producer_epoch=epoch, base_sequence=sequence))
    result = partition.append(batch, read_header(batch), acks, now_ms=NOW_MS)
    return result.error if isinstance(result, AppendResult) else result


def follow(partition: Partition, sequence: int, count: int = 1) -> None:
    """Append what the leader has of the producer."""
    end = partition.log.log_end_offset
    batch = make_batch(
        count, producer_id=7, producer_epoch=0, base_sequence=sequence, base_offset=end, leader_epoch=3
    )
    partition.log.append_as_follower(memoryview(batch), 3, NOW_MS)


@pytest.fixture
def follower(make_partition: Callable[..., Partition]) -> Partition:
    """A follower that has the batches 0 and 2 of the producer, of two records each."""
    partition = make_partition(role=FOLLOWS)
    follow(partition, 0, 2)
    follow(partition, 2, 2)
    return partition


@pytest.fixture
def elect(replicas: ReplicaManager, follower: Partition) -> Callable[[], object]:
    """Makes the follower the leader."""
    return lambda: replicas.take_role(follower.topic, follower.index, LEADS)


def test_batches_behind_one_that_came_before_the_election(
    follower: Partition, elect: Callable[[], object]
) -> None:
    assert [send(follower, 4, 2), send(follower, 6)] == [DOES_NOT_LEAD] * 2
    elect()
    assert [send(follower, 7), send(follower, 8)] == [DOES_NOT_LEAD] * 2
    assert [send(follower, 4, 2), send(follower, 6), send(follower, 7), send(follower, 8)] == [0] * 4
    assert send(follower, 10) == GAP


def test_the_first_batches_of_a_producer(make_partition: Callable[..., Partition]) -> None:
    """A log takes any sequence of an unknown producer; then the first could never be written."""
    partition = make_partition(role=FOLLOWS)
    assert send(partition, 0) == DOES_NOT_LEAD
    partition.take_role(LEADS)
    assert send(partition, 1) == DOES_NOT_LEAD
    assert [send(partition, 0), send(partition, 1)] == [0, 0]


def test_a_retry_that_is_refused_again(follower: Partition, elect: Callable[[], object]) -> None:
    for _ in range(2):
        assert [send(follower, 4), send(follower, 5)] == [DOES_NOT_LEAD] * 2
    elect()
    assert send(follower, 6) == DOES_NOT_LEAD
    assert [send(follower, 4), send(follower, 5), send(follower, 6)] == [0] * 3


def test_a_retry_of_what_is_there_already(follower: Partition, elect: Callable[[], object]) -> None:
    assert [send(follower, 2, 2), send(follower, 4)] == [DOES_NOT_LEAD] * 2
    elect()
    assert send(follower, 5) == DOES_NOT_LEAD
    assert [send(follower, 2, 2), send(follower, 4), send(follower, 5)] == [0] * 3


def test_a_batch_that_comes_again_without_the_one_before_it_is_told_of_the_gap(
    follower: Partition, elect: Callable[[], object]
) -> None:
    send(follower, 4)
    elect()
    assert [send(follower, 5), send(follower, 6)] == [DOES_NOT_LEAD] * 2
    assert [send(follower, 5), send(follower, 6)] == [GAP] * 2


def test_a_gap_before_what_was_refused_is_told(follower: Partition, elect: Callable[[], object]) -> None:
    send(follower, 5)
    elect()
    assert send(follower, 6) == GAP


def test_a_gap_behind_what_was_refused_is_told(follower: Partition, elect: Callable[[], object]) -> None:
    """The batch that was refused here has been written at the former leader."""
    send(follower, 4)
    follow(follower, 4)
    elect()
    assert send(follower, 6) == GAP
    assert send(follower, 5) == 0


def test_a_producer_in_its_next_epoch(follower: Partition, elect: Callable[[], object]) -> None:
    send(follower, 4)
    elect()
    assert send(follower, 5, epoch=1) == GAP
    assert [send(follower, 0, epoch=1), send(follower, 1, epoch=1)] == [0, 0]


def test_a_refusal_of_long_ago_counts_no_more(follower: Partition, elect: Callable[[], object]) -> None:
    send(follower, 4)
    follower.log.producer_state.expire(NOW_MS, 1 << 40)
    elect()
    assert send(follower, 5) == GAP


def header_of(sequence: int, producer_id: int = 7, epoch: int = 0) -> BatchHeader:
    batch = make_batch(1, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)
    return read_header(memoryview(batch))


def test_as_many_partitions_as_are_remembered_stay_remembered(
    replicas: ReplicaManager, make_partition: Callable[..., Partition]
) -> None:
    for index in range(MOST_AWAITED):
        replicas.note_refusal("t", index, header_of(0), DOES_NOT_LEAD)
    replicas.note_refusal("t", 0, header_of(1), DOES_NOT_LEAD)
    assert send(make_partition(index=1), 1) == DOES_NOT_LEAD
    for index in (1, MOST_AWAITED):  # one too many: it begins anew
        replicas.note_refusal("t", index, header_of(0), DOES_NOT_LEAD)
    assert send(make_partition(index=2), 1) == 0


def test_as_many_producers_as_are_remembered_stay_remembered() -> None:
    refusals = Refusals()
    for producer_id in range(MOST_RUNS):
        refusals.note(header_of(0, producer_id), DOES_NOT_LEAD)
    refusals.note(header_of(0, 0, epoch=1), DOES_NOT_LEAD)
    assert refusals.reason(header_of(1, 1), None) == DOES_NOT_LEAD
    refusals.note(header_of(0, MOST_RUNS), DOES_NOT_LEAD)  # one too many
    assert refusals.reason(header_of(2, 1), None) == ErrorCode.NONE


def test_batches_behind_one_for_which_too_few_were_in_sync(
    make_partition: Callable[..., Partition], replicas: ReplicaManager
) -> None:
    partition = make_partition(role=LEADS, min_insync_replicas="2")
    assert send(partition, 0, acks=1) == 0
    assert send(partition, 1) == ErrorCode.NOT_ENOUGH_REPLICAS
    replicas.take_role(partition.topic, partition.index, replace(LEADS, leader_epoch=5, isr=(ME, OTHER)))
    assert send(partition, 2) == ErrorCode.NOT_ENOUGH_REPLICAS
    assert [send(partition, 1), send(partition, 2)] == [0, 0]


def test_batches_behind_one_for_which_the_disk_had_no_room(
    make_partition: Callable[..., Partition], tmp_path: Path
) -> None:
    files = FaultyFiles()
    partition = make_partition(context=LogContext(str(tmp_path), files))
    no_room = ErrorCode.KAFKA_STORAGE_ERROR
    for first in (0, 2):
        files.fault = OSError(errno.ENOSPC, "No space left on device")
        assert [send(partition, first), send(partition, first + 1)] == [no_room] * 2
        assert [send(partition, first), send(partition, first + 1)] == [0, 0]
    assert send(partition, 5) == GAP
    files.fault = OSError(errno.ENOSPC, "No space left on device")
    assert send(partition, 4) == no_room
    assert send(partition, 0, epoch=1) == 0


def test_a_gap_is_told_of_by_a_leader_that_is_followed(
    make_partition: Callable[..., Partition], replicas: ReplicaManager
) -> None:
    """One that is cut off misses what another leader has taken since, and that is no gap."""
    partition = make_partition(role=replace(LEADS, isr=(ME, OTHER)))

    def is_followed(replica: int, now_ms: int) -> None:
        spec = FetchSpec(partition.log.log_end_offset, 10_000, leader_epoch=4)
        partition.note_fetch(spec, PartitionReader(replica_id=replica), now_ms)

    assert send(partition, 0) == 0
    assert send(partition, 5) == DOES_NOT_LEAD
    longest_ms = MAX_FETCH_WAIT_MS + FETCH_GRACE_MS
    is_followed(OTHER, NOW_MS - longest_ms)
    assert send(partition, 5) == GAP
    is_followed(OTHER, NOW_MS - longest_ms - 1)
    assert [send(partition, 5), send(partition, 1)] == [DOES_NOT_LEAD, 0]
    replicas.take_role(partition.topic, partition.index, replace(LEADS, leader_epoch=5))
    assert send(partition, 5) == GAP  # nobody else is in sync, so nobody else was elected
