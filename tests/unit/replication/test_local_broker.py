"""The log that a partition gets when a crash has left one whose topic id is missing or another."""

from __future__ import annotations

import errno
from random import Random
from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.feed import MetadataCache
from kcompat.cluster.news import AssignedPartition, LeaderAndIsr, Role, StopReplica
from kcompat.config.broker import BrokerConfig
from kcompat.config.feed import ConfigFeed
from kcompat.log.checkpoints import parse_partition_metadata
from kcompat.log.config import LogConfig
from kcompat.log.errors import StorageError
from kcompat.log.files import Files
from kcompat.log.manager import LogManager
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import build_batch, read_header
from kcompat.records.record import Record
from kcompat.replication.local_broker import LocalBroker
from kcompat.replication.replicas import ReplicaManager
from kcompat.worker import ThreadWorker
from support.log_manager import log_manager
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.cluster.news import News
    from kcompat.controller.channels import PartitionErrors
    from kcompat.log.log import Log

OLD, NEW = b"o" * 16, b"n" * 16
ROLE = Role(1, 0, (1,), (1,), 0)
ASSIGNED = AssignedPartition("t", NEW, 0, ROLE, is_new=False)


def local_broker(logs: LogManager, clock: VirtualClock) -> LocalBroker:
    cluster = MetadataCache("cluster")
    return LocalBroker(ConfigFeed(BrokerConfig({})), cluster, logs, ReplicaManager(1, clock, cluster))


def told(local: LocalBroker, news: News) -> PartitionErrors:
    """What the broker answers, at once."""
    answers: list[PartitionErrors] = []
    local.give(news, answers.append)
    (failed,) = answers
    return failed


def take_after_a_crash(home: Path, metadata: bytes | None) -> LogManager:
    """A log with one record, whose `partition.metadata` is replaced by this (None keeps it); then the role is
    taken.
    """
    for life in range(2):
        clock = VirtualClock()
        logs = log_manager([home], clock)
        logs.open(1, "cluster", LogConfig())
        if life == 0:
            log = logs.create("t", 0, OLD, LogConfig())
            batch = memoryview(build_batch([Record(0, 1, None, b"v")]))
            assert not log.append_as_leader(batch, read_header(batch), 0, 1).error
            logs.close()
            if metadata is not None:
                (home / "t-0" / "partition.metadata").write_bytes(metadata)
    local = local_broker(logs, clock)
    assert told(local, LeaderAndIsr([ASSIGNED])) == {}
    clock.advance(100)
    return logs


@pytest.mark.parametrize("metadata", [b"", b"version: 0\ntopic_id: bm5ub"])
def test_a_log_that_lost_its_topic_id_gets_it_back(tmp_path: Path, metadata: bytes) -> None:
    logs = take_after_a_crash(tmp_path, metadata)
    log = logs.get("t", 0)
    assert log is not None
    assert (log.topic_id, log.log_end_offset) == (NEW, 1)
    assert parse_partition_metadata((tmp_path / "t-0" / "partition.metadata").read_bytes()) == NEW
    logs.close()


def test_a_log_of_another_topic_of_this_name_is_set_aside(tmp_path: Path) -> None:
    logs = take_after_a_crash(tmp_path, None)
    log = logs.get("t", 0)
    assert log is not None
    assert (log.topic_id, log.log_end_offset) == (NEW, 0)
    (stray,) = tmp_path.glob("t-0.*-stray")
    assert (stray / "00000000000000000000.log").stat().st_size > 0
    assert parse_partition_metadata((tmp_path / "t-0" / "partition.metadata").read_bytes()) == NEW
    logs.close()


class UnreadableFiles(Files):
    """Cannot list `path`."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def list(self, path: str) -> list[str]:
        if path == self.path:
            raise OSError(errno.EIO, "Input/output error")
        return super().list(path)


def test_a_partition_of_an_offline_directory_does_not_begin_anew_in_another(tmp_path: Path) -> None:
    homes = [tmp_path / "a", tmp_path / "b"]

    def life(files: Files) -> tuple[LogManager, LocalBroker]:
        clock = VirtualClock()
        logs = log_manager(homes, clock, files)
        logs.open(1, "cluster", LogConfig())
        return logs, local_broker(logs, clock)

    def assigned(topic: str, index: int, *, is_new: bool) -> AssignedPartition:
        return AssignedPartition(topic, NEW, index, ROLE, is_new=is_new)

    logs, local = life(Files())
    assert told(local, LeaderAndIsr([assigned("t", index, is_new=True) for index in range(2)])) == {}
    log = logs.get("t", 1)
    assert log is not None
    assert log.context.path == str(homes[1])
    batch = memoryview(build_batch([Record(0, 1, None, b"v")]))
    assert not log.append_as_leader(batch, read_header(batch), 0, 1).error
    logs.close()

    logs, local = life(UnreadableFiles(homes[1]))
    known = [assigned("t", index, is_new=False) for index in range(2)]
    assert told(local, LeaderAndIsr(known)) == {("t", 1): ErrorCode.KAFKA_STORAGE_ERROR}
    assert logs.get("t", 1) is None
    assert told(local, LeaderAndIsr([assigned("new", 0, is_new=True)])) == {}
    logs.close()

    logs, local = life(Files())
    assert told(local, LeaderAndIsr(known)) == {}
    log = logs.get("t", 1)
    assert log is not None
    assert log.log_end_offset == 1
    logs.close()


def test_a_deletion_is_on_the_device_before_it_is_answered(tmp_path: Path) -> None:
    synced = []

    class Watched(Files):
        def sync_directory(self, path: str) -> None:
            synced.append(sorted(name.partition(".")[0] for name in self.list(path) if "t-" in name))

    clock = VirtualClock()
    logs = log_manager([tmp_path], clock, Watched())
    logs.open(1, "cluster", LogConfig())
    local = local_broker(logs, clock)
    for index in range(3):
        logs.create("t", index, NEW, LogConfig())
    clock.advance(100)
    synced.clear()
    assert told(local, StopReplica([("t", 0), ("t", 2), ("gone", 0)])) == {}
    assert synced == [["t-0", "t-1", "t-2"]]
    assert sorted(path.name[-7:] for path in tmp_path.glob("t-*")) == ["-delete", "-delete", "t-1"]
    logs.close()


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (StorageError("the disk is bad", OSError()), ErrorCode.KAFKA_STORAGE_ERROR),
        (ZeroDivisionError(), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_a_fault_while_roles_are_taken_fails_its_own_partition_alone(
    tmp_path: Path, fault: Exception, error: ErrorCode
) -> None:
    class FaultyManager(LogManager):
        def create(self, topic: str, partition: int, topic_id: bytes, config: LogConfig) -> Log:
            if partition == 1:
                raise fault
            return super().create(topic, partition, topic_id, config)

        def delete(self, topic: str, partition: int) -> None:
            if partition == 1:
                raise fault
            super().delete(topic, partition)

    clock = VirtualClock()
    logs = FaultyManager([tmp_path], clock, Files(), ThreadWorker, Random(0))
    logs.open(1, "cluster", LogConfig())
    local = local_broker(logs, clock)
    assigned = [AssignedPartition("t", NEW, index, ROLE, is_new=True) for index in range(3)]
    assert told(local, LeaderAndIsr(assigned)) == {("t", 1): error}
    assert {(log.topic, log.partition) for log in logs} == {("t", 0), ("t", 2)}
    assert told(local, StopReplica([("t", index) for index in range(3)])) == {("t", 1): error}
    assert not list(logs)
    logs.close()
