from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.control_requests import Role
from kcompat.log.append import AppendResult
from kcompat.log.context import LogContext
from kcompat.log.files import FILES, Files
from kcompat.protocol.errors import ErrorCode
from kcompat.replication.listing import offset_for, offsets_before
from kcompat.replication.partition import Partition
from kcompat.replication.reading import ANY_CONSUMER, READ_COMMITTED, Fetched, FetchSpec, PartitionReader
from kcompat.replication.waiting.delayed_progress import DelayedProgress

from .conftest import ALONE, ME, append

if TYPE_CHECKING:
    from collections.abc import Callable

    MakePartition = Callable[..., Partition]

    from kcompat.log.files import OpenFile
    from kcompat.replication.replica_manager import ReplicaManager


OTHER = 2
UNCOMMITTED, COMMITTED = PartitionReader(), PartitionReader(READ_COMMITTED)


def fetch(partition: Partition, offset: int, *, epoch: int = -1, last_epoch: int = -1) -> Fetched:
    return partition.fetch(
        FetchSpec(offset, 10_000, epoch, last_epoch), UNCOMMITTED, 10_000, min_one_batch=True
    )


def test_a_leader_alone_commits_at_once(make_partition: MakePartition) -> None:
    partition = make_partition()
    result = append(partition, b"a", b"b", acks=-1)
    assert isinstance(result, AppendResult)
    assert (result.base_offset, result.last_offset, partition.high_watermark) == (0, 1, 2)
    assert partition.committed(2) == ErrorCode.NONE
    assert partition.committed(3) is None
    partition.check_invariants()


def test_without_a_role_nothing_is_served(make_partition: MakePartition) -> None:
    partition = make_partition(role=None)
    assert append(partition, b"a") == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert fetch(partition, 0).error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.committed(0) == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_too_few_in_sync_refuse_acks_all_and_hide_acks_one(make_partition: MakePartition) -> None:
    role = Role(leader=ME, leader_epoch=0, isr=(ME,), replicas=(ME, OTHER))
    partition = make_partition(role=role, min_insync_replicas="2")
    assert append(partition, b"a", acks=-1) == ErrorCode.NOT_ENOUGH_REPLICAS
    append(partition, b"b", acks=1)
    assert partition.log.log_end_offset == 1
    assert partition.high_watermark == 0
    assert len(fetch(partition, 0).records) == 0


def test_min_insync_never_asks_for_more_replicas_than_there_are(make_partition: MakePartition) -> None:
    partition = make_partition(min_insync_replicas="3")
    assert isinstance(append(partition, b"a", acks=-1), AppendResult)
    assert partition.high_watermark == 1


def test_an_older_leader_epoch_changes_nothing(
    make_partition: MakePartition, replicas: ReplicaManager
) -> None:
    partition = make_partition(role=Role(leader=ME, leader_epoch=5, isr=(ME,), replicas=(ME,)))
    stale = Role(leader=OTHER, leader_epoch=4, isr=(OTHER,), replicas=(ME,))
    assert replicas.take_role("t", 0, stale) == ErrorCode.STALE_CONTROLLER_EPOCH
    assert partition.is_leader


def test_clients_of_another_epoch_are_fenced(make_partition: MakePartition) -> None:
    partition = make_partition(role=Role(leader=ME, leader_epoch=5, isr=(ME,), replicas=(ME,)))
    append(partition, b"a")
    assert fetch(partition, 0, epoch=4).error == ErrorCode.FENCED_LEADER_EPOCH
    assert fetch(partition, 0, epoch=6).error == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert fetch(partition, 0, epoch=5).error == ErrorCode.NONE


def test_a_reader_beyond_its_epoch_is_told_where_it_ended(
    make_partition: MakePartition, replicas: ReplicaManager
) -> None:
    partition = make_partition()
    append(partition, b"a", b"b")
    replicas.take_role("t", 0, Role(leader=ME, leader_epoch=3, isr=(ME,), replicas=(ME,)))
    append(partition, b"c")
    assert fetch(partition, 3, last_epoch=0).diverging == (0, 2)
    assert fetch(partition, 3, last_epoch=3).diverging is None
    assert fetch(partition, 3, last_epoch=7).error == ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize(("offset", "error"), [(-1, 1), (0, 0), (2, 0), (3, 1)])
def test_offsets_out_of_range(make_partition: MakePartition, offset: int, error: int) -> None:
    partition = make_partition()
    append(partition, b"a", b"b")
    fetched = fetch(partition, offset)
    assert fetched.error == error
    assert fetched.high_watermark == (-1 if error else 2)
    assert fetched.log_start_offset == (-1 if error else 0)


def test_a_negative_limit_is_an_error_where_there_is_something_to_read(make_partition: MakePartition) -> None:
    partition = make_partition()
    append(partition, b"a")
    fetched = [
        partition.fetch(FetchSpec(offset, 100), UNCOMMITTED, -1, min_one_batch=True) for offset in (0, 1)
    ]
    assert [each.error for each in fetched] == [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.NONE]


@pytest.mark.parametrize("role", [ALONE, Role(leader=-1, leader_epoch=1, isr=(ME,), replicas=(ME,))])
def test_a_failed_disk_is_what_clients_are_told(
    make_partition: MakePartition, replicas: ReplicaManager, role: Role
) -> None:
    """Whether or not the controller has heard of it and taken the partition's leader away."""
    partition = make_partition()
    append(partition, b"a")
    partition.log.context.fault(OSError(errno.EIO, "Input/output error"))
    replicas.take_role("t", 0, role)
    failed = ErrorCode.KAFKA_STORAGE_ERROR
    assert append(partition, b"b") == failed
    assert fetch(partition, 0).error == failed
    assert offset_for(partition, -1, UNCOMMITTED, -1).error == failed
    assert offsets_before(partition, -1, 1, ANY_CONSUMER, now_ms=0) == (failed, [])
    assert partition.delete_records_before(1) == (failed, -1)
    assert partition.committed(2) == failed


def test_delete_records_moves_the_log_start(make_partition: MakePartition) -> None:
    partition = make_partition()
    append(partition, b"a", b"b", b"c")
    assert partition.delete_records_before(4) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert partition.delete_records_before(-2) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert partition.delete_records_before(2) == (ErrorCode.NONE, 2)
    assert fetch(partition, 1).error == ErrorCode.OFFSET_OUT_OF_RANGE
    assert partition.delete_records_before(-1) == (ErrorCode.NONE, 3)


def test_delete_records_is_against_the_policy_of_a_compacted_topic(make_partition: MakePartition) -> None:
    partition = make_partition(cleanup_policy="compact")
    assert partition.delete_records_before(0) == (ErrorCode.POLICY_VIOLATION, -1)


@pytest.mark.parametrize(
    ("timestamp", "found"),
    [
        (-1, (3, -1, 0)),
        (-2, (0, -1, 0)),
        (-3, (2, 1002, 0)),
        (-4, (0, -1, 0)),
        (-5, (-1, -1, -1)),
        (1001, (1, 1001, 0)),
        (0, (0, 1000, 0)),
        (1003, (-1, -1, -1)),
    ],
)
def test_offsets_by_time(make_partition: MakePartition, timestamp: int, found: tuple[int, int, int]) -> None:
    partition = make_partition()
    append(partition, b"a", b"b", b"c")
    answer = offset_for(partition, timestamp, UNCOMMITTED, -1)
    assert (answer.error, answer.offset, answer.timestamp, answer.leader_epoch) == (ErrorCode.NONE, *found)


def test_a_time_before_minus_six_is_no_question_we_know(make_partition: MakePartition) -> None:
    assert offset_for(make_partition(), -7, UNCOMMITTED, -1).error == ErrorCode.UNSUPPORTED_VERSION


def test_a_new_leader_does_not_know_the_latest_offset_before_its_high_watermark_does(
    make_partition: MakePartition,
) -> None:
    role = Role(leader=ME, leader_epoch=0, isr=(ME,), replicas=(ME, OTHER))
    partition = make_partition(role=role, min_insync_replicas="2")
    append(partition, b"a")
    partition.take_role(Role(leader=ME, leader_epoch=1, isr=(ME,), replicas=(ME, OTHER)))
    assert offset_for(partition, -1, UNCOMMITTED, -1).error == ErrorCode.OFFSET_NOT_AVAILABLE
    partition.take_role(Role(leader=ME, leader_epoch=2, isr=(ME,), replicas=(ME,)))
    assert offset_for(partition, -1, COMMITTED, -1).offset == 1


def test_a_retired_partition_leads_no_more(make_partition: MakePartition, replicas: ReplicaManager) -> None:
    partition = make_partition()
    assert replicas.remove("t", 0) is partition
    assert not partition.is_leader
    assert replicas.get("t", 0) is None
    assert replicas.take_role("t", 0, ALONE) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# -- flush.messages ------------------------------------------------------------------------------------------


class SlowSync(LogContext):
    """Syncs end when `end` is called."""

    def __init__(self, path: str, files: Files) -> None:
        super().__init__(path, files)
        self.ends: list[Callable[[], object]] = []

    def sync(self, work: Callable[[], object], then: Callable[[], object]) -> None:
        self.ends.append(lambda: (work(), then()))

    def end(self) -> None:
        self.ends.pop(0)()


def held_partition(
    make_partition: MakePartition, files: Files = FILES, **overrides: str | Role
) -> tuple[Partition, SlowSync]:
    context = SlowSync("home", files)
    return make_partition(context=context, flush_messages="1", **overrides), context


def test_nothing_is_read_or_acknowledged_before_it_is_on_the_device(make_partition: MakePartition) -> None:
    partition, disk = held_partition(make_partition)
    append(partition, b"a", b"b")
    append(partition, b"c")
    assert (partition.high_watermark, partition.log.log_end_offset) == (0, 3)
    assert (partition.stored(2), partition.committed(2)) == (None, None)
    assert len(fetch(partition, 0).records) == 0
    disk.end()
    assert (partition.high_watermark, partition.stored(2), partition.committed(2)) == (2, 0, 0)
    assert (partition.stored(3), partition.committed(3)) == (None, None)
    assert len(fetch(partition, 0).records) > 0
    disk.end()
    assert (partition.high_watermark, partition.stored(3), partition.committed(3)) == (3, 0, 0)
    partition.check_invariants()


def test_acks_one_waits_for_the_device_and_not_for_others(make_partition: MakePartition) -> None:
    role = Role(leader=ME, leader_epoch=0, isr=(ME,), replicas=(ME, OTHER))
    partition, disk = held_partition(make_partition, role=role, min_insync_replicas="2")
    append(partition, b"a", acks=1)
    assert partition.stored(1) is None
    disk.end()
    assert (partition.stored(1), partition.high_watermark) == (ErrorCode.NONE, 0)


def test_waits_are_woken_when_the_sync_ends(make_partition: MakePartition, replicas: ReplicaManager) -> None:
    partition, disk = held_partition(make_partition)
    append(partition, b"a")
    settled: list[ErrorCode] = []
    for check in (Partition.stored, Partition.committed):
        operation = DelayedProgress({partition: 1}, lambda _, error: settled.append(error), "done", check)
        replicas.produces.wait(operation, (partition,), None)
    disk.end()
    assert settled == [ErrorCode.NONE, ErrorCode.NONE]


class NoRoomToSync(Files):
    """Files whose written bytes cannot be synced to the device."""

    def sync(self, file: OpenFile) -> None:
        raise OSError(errno.ENOSPC, "no room")


def test_a_failed_sync_is_told(make_partition: MakePartition, replicas: ReplicaManager) -> None:
    partition, disk = held_partition(make_partition, NoRoomToSync())
    append(partition, b"a")
    settled: list[ErrorCode] = []
    for check in (Partition.stored, Partition.committed):
        operation = DelayedProgress({partition: 1}, lambda _, error: settled.append(error), "done", check)
        replicas.produces.wait(operation, (partition,), None)
    disk.end()
    assert settled == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
    assert (partition.high_watermark, append(partition, b"b")) == (0, ErrorCode.KAFKA_STORAGE_ERROR)
