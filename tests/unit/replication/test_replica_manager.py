"""Unit tests of `ReplicaManager`: which partition is found, and why one is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.control_requests import Role
from kcompat.cluster.image import BrokerInfo, ClusterImage, PartitionInfo, TopicImage
from kcompat.protocol.errors import ErrorCode
from kcompat.replication.reading import FetchSpec, PartitionReader
from kcompat.replication.replica_manager import MAX_LAG_MS

from .conftest import append

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.cluster.metadata_cache import MetadataCache
    from kcompat.replication.isr import Pending
    from kcompat.replication.partition import Partition
    from kcompat.replication.replica_manager import ReplicaManager
    from support.virtual_clock import VirtualClock


@pytest.mark.parametrize(
    ("topic", "index", "error"),
    [
        ("t", 1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        ("t", 2, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        ("t", 4, ErrorCode.KAFKA_STORAGE_ERROR),
        ("t", 3, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("t", -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("none", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_what_is_not_here_has_a_reason(
    make_partition: Callable[[], Partition],
    replicas: ReplicaManager,
    cluster: MetadataCache,
    topic: str,
    index: int,
    error: ErrorCode,
) -> None:
    """Its role has not come yet, it is another broker's, its disk has failed, nobody has it."""
    partition = make_partition()
    placed = ((1,), (2, 1), (2,))
    replicas.mark_offline("t", 4)
    partitions = {at: PartitionInfo(-1, 0, on[:1], on) for at, on in enumerate(placed)}
    cluster.update(ClusterImage("cluster").with_topics([TopicImage("t", bytes(16), partitions)]))
    assert replicas.find("t", 0) is partition
    assert replicas.find(topic, index) is error


def test_a_role_is_taken_though_the_one_who_follows_it_raises(
    make_partition: Callable[[], Partition], replicas: ReplicaManager, caplog: pytest.LogCaptureFixture
) -> None:
    partition = make_partition()

    def broken(_: Partition) -> None:
        raise ZeroDivisionError

    replicas.on_leadership("t", broken)
    assert replicas.take_role("t", 0, Role(leader=1, leader_epoch=7, isr=(1,), replicas=(1,))) == 0
    assert (partition.is_leader, partition.role.leader_epoch) == (True, 7)
    assert replicas.remove("t", 0) is partition
    assert caplog.text.count("raise ZeroDivisionError") == 2


@pytest.fixture
def partition(
    make_partition: Callable[..., Partition], cluster: MetadataCache, clock: VirtualClock
) -> Partition:
    """A partition whose high watermark waits for a replica that is about to come into sync."""
    brokers = {each: BrokerInfo(each, None, {}) for each in (1, 2, 3)}
    cluster.update(ClusterImage("cluster", brokers=brokers))
    partition = make_partition(role=Role(leader=1, leader_epoch=0, isr=(1, 2), replicas=(1, 2, 3)))
    for replica in (2, 3):
        partition.note_fetch(FetchSpec(0, 1), PartitionReader(replica_id=replica), clock.now_ms())
    append(partition, b"v", acks=-1)
    partition.note_fetch(FetchSpec(1, 1), PartitionReader(replica_id=2), clock.now_ms())
    assert (partition.high_watermark, partition.log.log_end_offset) == (0, 1)
    return partition


def test_the_high_watermark_waits_no_longer_for_a_broker_that_leaves(
    partition: Partition, cluster: MetadataCache
) -> None:
    brokers = dict(cluster.image.brokers)
    del brokers[3]
    cluster.update(ClusterImage("cluster", brokers=brokers))
    assert partition.high_watermark == 1


def test_the_high_watermark_waits_no_longer_for_a_follower_that_fell_behind(
    partition: Partition, replicas: ReplicaManager, clock: VirtualClock
) -> None:
    replicas.shrink_isrs()
    assert partition.high_watermark == 0
    clock.advance(MAX_LAG_MS + 1)
    replicas.shrink_isrs()
    assert partition.high_watermark == 1


def test_the_high_watermark_waits_no_longer_for_a_replica_that_is_refused(
    partition: Partition, cluster: MetadataCache, replicas: ReplicaManager, clock: VirtualClock
) -> None:
    """Its broker shuts down: the controller refuses it, and it is gone before the answer."""
    proposed: list[Pending] = []
    replicas.propose_to(lambda _, pending: proposed.append(pending))
    partition.note_fetch(FetchSpec(1, 1), PartitionReader(replica_id=3), clock.now_ms())
    append(partition, b"w", acks=-1)
    brokers = dict(cluster.image.brokers)
    del brokers[3]
    cluster.update(ClusterImage("cluster", brokers=brokers))
    partition.note_fetch(FetchSpec(2, 1), PartitionReader(replica_id=2), clock.now_ms())
    assert partition.high_watermark == 1
    assert not partition.isr_refused(proposed[0], ErrorCode.INELIGIBLE_REPLICA)
    assert partition.high_watermark == 2
