"""The log that a partition gets when a crash has left one whose topic id is missing or another."""

from __future__ import annotations

import errno
import shutil
from random import Random
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from kcompat.cluster.control_requests import (
    AssignedPartition,
    Reply,
    Role,
    StoppedPartition,
    StopReplica,
    UpdateConfigs,
    UpdatedPartition,
    UpdateMetadata,
)
from kcompat.cluster.image import BrokerInfo, PartitionInfo
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.config.broker import BrokerConfig, ConfigFeed
from kcompat.log.checkpoints import parse_partition_metadata
from kcompat.log.errors import StorageError
from kcompat.log.files import Files
from kcompat.log.manager import LogManager
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.uuids import ZERO_UUID
from kcompat.records.batch import build_batch, read_header
from kcompat.records.record import Record
from kcompat.replication.local_broker import LocalBroker
from kcompat.replication.replica_manager import ReplicaManager
from kcompat.worker import ThreadWorker
from support.default_settings import log_settings
from support.local_brokers import DONE, NEW, local_broker, take, told
from support.log_manager import log_manager
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kcompat.log.config import LogConfig
    from kcompat.log.log import Log

OLD = b"o" * 16
ROLE = Role(1, 0, (1,), (1,), 0)
ASSIGNED = AssignedPartition("t", NEW, 0, ROLE, is_new=False)


def delete(*partitions: tuple[str, int]) -> StopReplica:
    return StopReplica(1, 1, [StoppedPartition(*each, leader_epoch=-2, delete=True) for each in partitions])


def test_the_rates_of_throttled_replicas_are_obeyed_from_the_start_and_when_they_change(
    tmp_path: Path,
) -> None:
    clock, cluster = VirtualClock(), MetadataCache("cluster")
    replicas = ReplicaManager(1, clock, cluster)
    config = ConfigFeed(BrokerConfig(dynamic_default={"leader.replication.throttled.rate": "10"}))
    logs = log_manager([tmp_path], clock)
    logs.open(1, "cluster", log_settings())
    local = LocalBroker(config, cluster, logs, replicas)
    told(local, UpdateConfigs({("topics", "t"): {"leader.replication.throttled.replicas": "*"}}))
    told(local, take(AssignedPartition("t", NEW, 0, ROLE, is_new=True)))
    partition = replicas.get("t", 0)
    assert partition is not None
    throttle = partition.throttled.leader
    assert throttle is not None
    throttle.record(11, clock.now_ms())
    assert throttle.is_exceeded(clock.now_ms())
    config.replace(BrokerConfig(dynamic_default={"leader.replication.throttled.rate": "11"}))
    local.reconfigure_all()
    assert not throttle.is_exceeded(clock.now_ms())
    logs.close()


def take_after_a_crash(home: Path, metadata: bytes | None) -> LogManager:
    """A log with one record, whose `partition.metadata` is replaced by this (None keeps it); then the role is
    taken.
    """
    for life in range(2):
        clock = VirtualClock()
        logs = log_manager([home], clock)
        logs.open(1, "cluster", log_settings())
        if life == 0:
            log = logs.create("t", 0, OLD, log_settings())
            batch = memoryview(build_batch([Record(0, 1, None, b"v")]))
            assert not log.append_as_leader(batch, read_header(batch), 0, 1).error
            logs.close()
            if metadata is not None:
                (home / "t-0" / "partition.metadata").write_bytes(metadata)
    local = local_broker(logs, clock)
    assert told(local, take(ASSIGNED)) == DONE
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
        logs.open(1, "cluster", log_settings())
        return logs, local_broker(logs, clock)

    def assigned(topic: str, index: int, *, is_new: bool) -> AssignedPartition:
        return AssignedPartition(topic, NEW, index, ROLE, is_new=is_new)

    logs, local = life(Files())
    assert told(local, take(*(assigned("t", index, is_new=True) for index in range(2)))) == DONE
    log = logs.get("t", 1)
    assert log is not None
    assert log.context.path == str(homes[1])
    batch = memoryview(build_batch([Record(0, 1, None, b"v")]))
    assert not log.append_as_leader(batch, read_header(batch), 0, 1).error
    logs.close()

    logs, local = life(UnreadableFiles(homes[1]))
    known = [assigned("t", index, is_new=False) for index in range(2)]
    assert told(local, take(*known)) == Reply(partitions={("t", 1): ErrorCode.KAFKA_STORAGE_ERROR})
    assert logs.get("t", 1) is None
    assert local._replicas.find("t", 1) == ErrorCode.KAFKA_STORAGE_ERROR
    assert told(local, delete(("t", 1))) == Reply(partitions={("t", 1): ErrorCode.KAFKA_STORAGE_ERROR})
    assert told(local, take(assigned("new", 0, is_new=True))) == DONE
    logs.close()

    logs, local = life(Files())
    assert told(local, take(*known)) == DONE
    log = logs.get("t", 1)
    assert log is not None
    assert log.log_end_offset == 1
    logs.close()


def test_a_copy_of_a_log_that_is_gone_is_set_aside_and_not_taken_for_it(tmp_path: Path) -> None:
    """An operator who lost the directory of the log can use the copy."""
    homes = [tmp_path / "a", tmp_path / "b"]
    clock = VirtualClock()
    for life in range(2):
        logs = log_manager(homes, clock)
        logs.open(1, "cluster", log_settings())
        if life == 0:
            current = logs.create("t", 0, NEW, log_settings())
            logs.futures.create(current, logs.directories[1])
            logs.close()
            shutil.rmtree(homes[0] / "t-0")
    assert told(local_broker(logs, clock), take(ASSIGNED)) == DONE
    assert logs.futures.get("t", 0) is None
    (left,) = homes[1].glob("t-0.*")
    assert left.name.endswith("-stray")
    logs.close()


def test_a_deletion_is_on_the_device_before_it_is_answered(tmp_path: Path) -> None:
    synced = []

    class Watched(Files):
        def sync_directory(self, path: str) -> None:
            synced.append(sorted(name.partition(".")[0] for name in self.list(path) if "t-" in name))

    clock = VirtualClock()
    logs = log_manager([tmp_path], clock, Watched())
    logs.open(1, "cluster", log_settings())
    local = local_broker(logs, clock)
    for index in range(3):
        logs.create("t", index, NEW, log_settings())
    clock.advance(100)
    synced.clear()
    assert told(local, delete(("t", 0), ("t", 2), ("gone", 0))) == DONE
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

        def delete(self, topic: str, partition: int, delay_ms: int | None = None) -> None:
            if partition == 1:
                raise fault
            super().delete(topic, partition, delay_ms)

    clock = VirtualClock()
    logs = FaultyManager([tmp_path], clock, Files(), ThreadWorker, Random(0))
    logs.open(1, "cluster", log_settings())
    local = local_broker(logs, clock)
    assigned = [AssignedPartition("t", NEW, index, ROLE, is_new=True) for index in range(3)]
    assert told(local, take(*assigned)) == Reply(partitions={("t", 1): error})
    assert {(log.topic, log.partition) for log in logs} == {("t", 0), ("t", 2)}
    assert told(local, delete(*(("t", index) for index in range(3)))) == Reply(partitions={("t", 1): error})
    assert not list(logs)
    logs.close()


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[LogManager]:
    manager = log_manager([tmp_path], VirtualClock())
    manager.open(1, "cluster", log_settings())
    yield manager
    manager.close()


def test_a_controller_with_a_smaller_epoch_is_refused(logs: LogManager) -> None:
    local = local_broker(logs, VirtualClock())
    assert told(local, take(replace(ASSIGNED, is_new=True), controller_epoch=5)) == DONE
    stale = Reply(ErrorCode.STALE_CONTROLLER_EPOCH)
    newer = AssignedPartition("t", NEW, 0, replace(ROLE, leader=2, leader_epoch=9), is_new=False)
    assert told(local, take(newer, controller_epoch=4)) == stale
    assert told(local, delete(("t", 0))) == stale
    assert told(local, UpdateMetadata(2, 4, {2: BrokerInfo(2, None, {})})) == stale
    partition = local._replicas.get("t", 0)
    assert partition is not None
    assert partition.is_leader
    assert told(local, take(newer, controller_epoch=5)) == DONE
    assert not partition.is_leader


@pytest.mark.parametrize(
    ("topic_id", "replicas", "leader_epoch", "leads"),
    [
        (NEW, (2, 3), 6, False),
        (NEW, (2, 3), 5, True),
        (NEW, (2, 1), 6, True),
        (ZERO_UUID, (2, 3), 6, False),
        (OLD, (2, 3), 0, False),
    ],
    ids=["moved away", "told late", "a role comes", "of a topic without id", "of a topic made anew"],
)
def test_what_is_shown_with_other_brokers_is_led_no_more(
    logs: LogManager, topic_id: bytes, replicas: tuple[int, ...], leader_epoch: int, leads: bool
) -> None:
    local = local_broker(logs, VirtualClock())
    told(local, take(AssignedPartition("t", NEW, 0, replace(ROLE, leader_epoch=5), is_new=True)))
    info = PartitionInfo(2, leader_epoch, (2,), replicas)
    shown = (UpdatedPartition("t", topic_id, 0, info), UpdatedPartition("unknown", NEW, 0, info))
    assert told(local, UpdateMetadata(2, 1, {}, shown)) == DONE
    partition = local._replicas.get("t", 0)
    assert partition is not None
    assert partition.is_leader is leads


def stop(leader_epoch: int) -> StopReplica:
    return StopReplica(1, 1, [StoppedPartition("t", 0, leader_epoch, delete=False)])


def test_a_replica_that_is_stopped_keeps_its_log_and_follows_nobody(logs: LogManager) -> None:
    local = local_broker(logs, VirtualClock())
    told(local, take(replace(ASSIGNED, is_new=True, role=Role(2, 3, (2,), (1, 2)))))
    fenced = Reply(partitions={("t", 0): ErrorCode.FENCED_LEADER_EPOCH})
    assert told(local, stop(leader_epoch=2)) == fenced
    partition = local._replicas.get("t", 0)
    assert partition is not None
    assert partition.role.leader == 2
    assert told(local, stop(leader_epoch=3)) == DONE
    assert (partition.role.leader, partition.role.leader_epoch) == (-1, 3)
    assert logs.get("t", 0) is partition.log
    assert told(local, StopReplica(1, 1, [StoppedPartition("gone", 0, -1, delete=False)])) == DONE


def test_who_asks_again_in_the_same_epoch_is_told_which_logs_have_failed(logs: LogManager) -> None:
    local = local_broker(logs, VirtualClock())
    assert told(local, take(replace(ASSIGNED, is_new=True))) == DONE
    stale = Reply(partitions={("t", 0): ErrorCode.STALE_CONTROLLER_EPOCH})
    assert told(local, take(ASSIGNED)) == stale
    log = logs.get("t", 0)
    assert log is not None
    log.context.fault(OSError(errno.EIO, "Input/output error"))
    failed = Reply(partitions={("t", 0): ErrorCode.KAFKA_STORAGE_ERROR})
    assert told(local, take(ASSIGNED)) == failed
    assert told(local, delete(("t", 0))) == failed
    assert logs.get("t", 0) is log
