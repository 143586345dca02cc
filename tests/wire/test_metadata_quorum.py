"""DescribeQuorum of three brokers: each of them answers, and tells of the controller that there is now."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Cluster
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.describe_quorum import DescribeQuorumRequest
from support.eventually import eventually
from support.raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.protocol.message import Message

TIMEOUT_S = 20
Topic, Partition = DescribeQuorumRequest.TopicData, DescribeQuorumRequest.PartitionData
METADATA = DescribeQuorumRequest([Topic("__cluster_metadata", [Partition(0)])])


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(3) as started:
        yield started


def ask(cluster: Cluster, broker_id: int, request: Message, version: int) -> Any:
    """Return the answer of one broker."""
    host, port = cluster.brokers[broker_id].bootstrap_servers.rsplit(":", 1)
    with RawClient((host, int(port)), TIMEOUT_S) as client:
        return client.call(request, version)


def quorum(cluster: Cluster, broker_id: int) -> Any:
    """Return the partition that one broker describes."""
    answer = ask(cluster, broker_id, METADATA, 2)
    assert answer.error_code == 0, answer
    return answer.topics[0].partitions[0]


def test_every_broker_names_the_same_voter_and_observers(cluster: Cluster) -> None:
    rows = [quorum(cluster, broker_id) for broker_id in range(3)]
    (leader,) = {row.leader_id for row in rows}
    assert len({row.leader_epoch for row in rows}) == 1
    for broker_id, row in enumerate(rows):
        assert [voter.replica_id for voter in row.current_voters] == [leader]
        assert [each.replica_id for each in row.observers] == [each for each in range(3) if each != leader]
        ends = {each.replica_id: each.log_end_offset for each in (*row.current_voters, *row.observers)}
        assert {each for each, end in ends.items() if end == row.high_watermark} == {leader, broker_id}


def test_the_high_watermark_rises_with_each_change_of_the_metadata(cluster: Cluster) -> None:
    first = quorum(cluster, 0)
    topic = CreateTopicsRequest.CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    made = ask(cluster, first.leader_id, CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 5)
    assert made.topics[0].error_code == 0, made
    for broker_id in range(3):
        assert quorum(cluster, broker_id).high_watermark > first.high_watermark


def without_the_former(cluster: Cluster, broker_id: int) -> Any:
    """Return the partition that one broker describes, None while it knows no controller or three brokers."""
    answer = ask(cluster, broker_id, METADATA, 1)
    row = None if answer.error_code else answer.topics[0].partitions[0]
    return row if row is not None and len(row.observers) == 1 else None


def test_the_next_controller_leads_in_a_later_epoch(cluster: Cluster) -> None:
    first = quorum(cluster, 0)
    cluster.brokers[first.leader_id].stop()
    left = {each.replica_id for each in first.observers}
    for broker_id in left:
        row = eventually(
            partial(without_the_former, cluster, broker_id), "there are two brokers and a controller"
        )
        assert row.leader_epoch > first.leader_epoch
        assert {row.leader_id, row.observers[0].replica_id} == left
