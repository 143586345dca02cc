"""A broker that was down while its replica moved to another broker sets it aside when it is back."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from kcompat import Cluster
from kcompat.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.eventually import eventually, limit_s
from support.raw_client import RawClient

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.protocol.message import Message

TIMEOUT_S = 20
TOPIC = "t"


def ask(cluster: Cluster, broker_id: int, request: Message, version: int) -> Any:
    host, port = cluster.brokers[broker_id].bootstrap_servers.rsplit(":", 1)
    with RawClient((host, int(port)), TIMEOUT_S) as client:
        return client.call(request, version)


def create(cluster: Cluster, broker_id: int, replicas: list[int]) -> None:
    assignment = CreateTopicsRequest.CreatableReplicaAssignment(0, replicas)
    topic = CreateTopicsRequest.CreatableTopic(TOPIC, -1, -1, [assignment])
    (row,) = ask(cluster, broker_id, CreateTopicsRequest([topic], 10_000), 5).topics
    assert row.error_code == 0, row
    cluster.wait_until_in_sync(limit_s(TIMEOUT_S))


def produce(cluster: Cluster) -> None:
    batch = memoryview(build_batch([Record(0, 1000, None, b"value")]))
    part = ProduceRequest.PartitionProduceData(0, batch)
    topic = ProduceRequest.TopicProduceData(name=TOPIC, partition_data=[part])
    request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[topic])
    answer = ask(cluster, cluster.leader_of(TOPIC, 0), request, 8)
    assert answer.responses[0].partition_responses[0].error_code == 0


def move(cluster: Cluster, broker_id: int, replicas: list[int]) -> None:
    """Have the partition move, and wait until it has."""
    partition = AlterPartitionReassignmentsRequest.ReassignablePartition(0, replicas)
    topic = AlterPartitionReassignmentsRequest.ReassignableTopic(TOPIC, [partition])
    moved = ask(cluster, broker_id, AlterPartitionReassignmentsRequest(10_000, topics=[topic]), 0)
    assert moved.responses[0].partitions[0].error_code == 0
    under_way = ListPartitionReassignmentsRequest(10_000, None)
    eventually(lambda: not ask(cluster, broker_id, under_way, 0).topics, "the partition has moved")


def test_a_replica_that_moved_while_its_broker_was_down_is_set_aside(tmp_path: Path) -> None:
    with Cluster(3, data_dir=tmp_path) as cluster:
        controller = ask(cluster, 0, MetadataRequest(topics=None), 9).controller_id
        stays, leaves = (broker_id for broker_id in range(3) if broker_id != controller)
        create(cluster, controller, [leaves, stays])
        produce(cluster)
        (left,) = (each for each in tmp_path.rglob(f"{TOPIC}-0") if str(leaves) in each.parent.name)
        cluster.brokers[leaves].kill()
        unknown = left.with_name("unknown-0")
        shutil.copytree(left, unknown)
        move(cluster, controller, [stays, controller])
        assert left.exists()
        cluster.brokers[leaves].start()
        eventually(lambda: not left.exists(), "the replica is set aside")
        (aside,) = left.parent.glob(f"{TOPIC}-0.*-stray")
        assert b"value" in next(aside.glob("*.log")).read_bytes()
        assert unknown.exists()
        cluster.wait_until_in_sync(limit_s(TIMEOUT_S))
        assert len(list(tmp_path.rglob(f"{TOPIC}-0"))) == 2
