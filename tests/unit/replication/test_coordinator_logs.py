"""A coordinator's log over real partitions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.control_requests import Role
from kcompat.coordinator.operation import Writer
from kcompat.coordinator.runtime import Runtime
from kcompat.log.append import UNVERIFIED, AppendResult
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import build_batch, read_header
from kcompat.records.control import ControlType, EndTransactionMarker
from kcompat.records.record import Record
from kcompat.replication.coordinator_logs import TopicLog
from support.registers import Registers, TextSerde, failed, put

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.log.log import Log
    from kcompat.replication.partition import Partition
    from kcompat.replication.replica_manager import ReplicaManager
    from support.virtual_clock import VirtualClock


@pytest.fixture
def runtime(replicas: ReplicaManager, clock: VirtualClock) -> Runtime[Registers]:
    """A coordinator whose topic is "t"."""
    return Runtime(TopicLog(replicas, "t"), TextSerde(), clock, lambda _, timers: Registers(timers))


def test_a_coordinator_hears_of_the_partitions_it_has_and_no_others(
    replicas: ReplicaManager, make_partition: Callable[..., Partition]
) -> None:
    heard: list[tuple[str, int, int | None]] = []
    TopicLog(replicas, "t").on_leadership(
        lambda partition, epoch: heard.append(("load", partition, epoch)),
        lambda partition, epoch: heard.append(("unload", partition, epoch)),
    )
    for topic, index in (("t", 0), ("t", 1), ("other", 0)):
        make_partition(topic, index)
    replicas.take_role("t", 1, Role(leader=2, leader_epoch=3, isr=(2,), replicas=(1, 2)))
    replicas.remove("t", 1)
    assert heard == [("load", 0, 0), ("load", 1, 0), ("unload", 1, 3), ("unload", 1, None)]


def test_what_was_written_is_loaded_again(
    runtime: Runtime[Registers], make_partition: Callable[..., Partition]
) -> None:
    make_partition("t", 0)
    runtime.load(0, leader_epoch=0)
    assert runtime.write(0, put("a", "1"), failed).value == "ok"
    runtime.unload(0, leader_epoch=1)
    runtime.load(0, leader_epoch=2)
    assert dict(runtime.active())[0].latest == {"a": "1"}


def test_a_partition_whose_file_cannot_be_read_is_not_served_and_the_others_are(
    runtime: Runtime[Registers], make_partition: Callable[..., Partition]
) -> None:
    for index in (0, 1):
        partition = make_partition("t", index)
        runtime.load(index, leader_epoch=0)
        runtime.write(index, put("a", "1"), failed)
        runtime.unload(index, leader_epoch=1)
        if index == 0:
            make_unreadable(partition.log)
    for index in (0, 1):
        runtime.load(index, leader_epoch=2)
    assert runtime.gate(0) == ErrorCode.NOT_COORDINATOR
    assert runtime.write(1, put("a", "2"), failed).value == "ok"


def test_the_end_of_a_transaction_that_was_open_when_the_log_was_loaded(
    runtime: Runtime[Registers], make_partition: Callable[..., Partition]
) -> None:
    partition = make_partition("t", 0)
    records = [Record(0, 0, b"a", b"1")]
    batch = memoryview(build_batch(records, producer_id=7, producer_epoch=2, transactional=True))
    appended = partition.append(batch, read_header(batch), -1, 0, UNVERIFIED)
    assert isinstance(appended, AppendResult)
    assert not appended.error
    runtime.load(0, leader_epoch=0)
    assert partition.last_stable_offset == 0
    stale, marker = (EndTransactionMarker(ControlType.COMMIT, coordinator_epoch=epoch) for epoch in (0, 1))
    assert runtime.end_transaction(0, Writer(7, 1), stale).value == ErrorCode.INVALID_PRODUCER_EPOCH
    assert runtime.end_transaction(0, Writer(7, 2), marker).value == ErrorCode.NONE
    assert runtime.end_transaction(0, Writer(7, 2), stale).value == ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert dict(runtime.active())[0].ended == [(7, True, 1)]
    assert partition.last_stable_offset == 2


def make_unreadable(log: Log) -> None:
    """Make reads of the log's file fail: its descriptor becomes that of a directory."""
    data = log.read(log.log_start_offset, 1, log.log_end_offset, min_one_batch=True)
    assert data is not None
    directory = os.open(log.directory, os.O_RDONLY)
    os.dup2(directory, data.fileno())
    os.close(directory)
