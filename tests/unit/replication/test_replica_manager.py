"""Unit tests of `ReplicaManager`: which partition is found, and why one is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.control_requests import Role
from kcompat.cluster.image import ClusterImage, PartitionInfo, TopicImage
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.cluster.metadata_cache import MetadataCache
    from kcompat.replication.partition import Partition
    from kcompat.replication.replica_manager import ReplicaManager


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
