"""Brokers and partitions as Metadata and related APIs show them."""

from __future__ import annotations

from kcompat.api.cluster_view import offline_replicas
from kcompat.cluster.image import PartitionInfo


def test_replicas_on_a_failed_disk_are_offline() -> None:
    """Replicas in sync would lead if they could; the state of the others is unknown."""
    assert offline_replicas(PartitionInfo(-1, 7, (1,), (1, 2, 3), offline=(1,)), {1, 2}) == [1, 3]
    assert offline_replicas(PartitionInfo(1, 7, (1,), (1, 2, 3)), {1, 2}) == [3]
