"""A share group outlives the broker that leads its partition, coordinates it and keeps what was delivered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Cluster
from kcompat.protocol.messages.alter_share_group_offsets import AlterShareGroupOffsetsRequest
from kcompat.protocol.messages.describe_share_group_offsets import DescribeShareGroupOffsetsRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from kcompat.protocol.messages.share_fetch import ShareFetchRequest
from kcompat.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from kcompat.share.key import SharePartitionKey
from support.cluster_asking import GROUP, PATIENCE_S, SHARE, ask, ask_coordinator, coordinator, create, until
from support.raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import Iterator

SETTINGS = {
    "zookeeper.session.timeout.ms": 3000,
    "group.share.assignment.interval.ms": 0,
    "offsets.topic.num.partitions": 5,
    "share.coordinator.state.topic.num.partitions": 5,
}
TOPIC, MEMBER = "t", "m"
ACCEPT, REJECT = 1, 3


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(3, config=SETTINGS) as started:
        yield started


def group_at(cluster: Cluster, broker_id: int, topic_id: bytes) -> str:
    """A group whose coordinator, and that of its share partition, is this broker."""
    for number in range(200):
        key = SharePartitionKey(f"g{number}", topic_id, 0)
        asked = ((GROUP, key.group_id), (SHARE, key.coordinator_key))
        if all(coordinator(cluster, broker_id, *each) == broker_id for each in asked):
            return key.group_id
    raise AssertionError("no such group")


def produce(cluster: Cluster, leader: int, count: int) -> None:
    batch = build_batch([Record(at, 1000, None, b"value") for at in range(count)])
    data = ProduceRequest.PartitionProduceData(0, memoryview(batch))
    topic = ProduceRequest.TopicProduceData(TOPIC, partition_data=[data])
    answer = ask(cluster, leader, ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[topic]), 9)
    assert answer.responses[0].partition_responses[0].error_code == 0


class Sharer:
    """A member that fetches from one broker and says what became of its records. Close it."""

    def __init__(self, cluster: Cluster, broker_id: int, group_id: str, topic_id: bytes) -> None:
        host, port = cluster.brokers[broker_id].bootstrap_servers.rsplit(":", 1)
        self._client = RawClient((host, int(port)), PATIENCE_S)
        self._group_id = group_id
        self._topic_id = topic_id

    def fetch(self) -> dict[int, int] | None:
        """In a new session: how often each record has been delivered that the member has now; None where this
        broker cannot say yet.
        """
        row = ShareFetchRequest.FetchPartition(0)
        request = ShareFetchRequest(
            self._group_id,
            MEMBER,
            0,
            max_wait_ms=1_000,
            min_bytes=1,
            max_records=100,
            batch_size=100,
            topics=[ShareFetchRequest.FetchTopic(self._topic_id, [row])],
        )
        answer = self._client.call(request, 2)
        rows = [row for topic in answer.responses for row in topic.partitions]
        if answer.error_code or not rows or rows[0].error_code or not rows[0].acquired_records:
            return None
        return {
            offset: acquired.delivery_count
            for acquired in rows[0].acquired_records
            for offset in range(acquired.first_offset, acquired.last_offset + 1)
        }

    def say(self, first: int, last: int, kind: int, epoch: int) -> None:
        """Acknowledge a range of records."""
        batch = ShareAcknowledgeRequest.AcknowledgementBatch(first, last, [kind])
        row = ShareAcknowledgeRequest.AcknowledgePartition(0, [batch])
        topics = [ShareAcknowledgeRequest.AcknowledgeTopic(self._topic_id, [row])]
        answer = self._client.call(ShareAcknowledgeRequest(self._group_id, MEMBER, epoch, topics=topics), 2)
        assert answer.error_code == 0
        assert answer.responses[0].partitions[0].error_code == 0, answer

    def close(self) -> None:
        """End the connection."""
        self._client.close()


def test_what_was_said_outlives_its_broker_and_what_was_not_comes_again(cluster: Cluster) -> None:
    first = cluster.brokers[0].id
    topic_id = create(cluster, first, TOPIC)
    group_id = group_at(cluster, first, topic_id)
    rows = [AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition(0, 0)]
    topics = [AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic(TOPIC, rows)]
    alter = AlterShareGroupOffsetsRequest(group_id, topics)
    altered = until(lambda: ask_coordinator(cluster, first, alter, 0), "the coordinator serves")
    assert altered.responses[0].partitions[0].error_code == 0, altered
    joined = ask(cluster, first, ShareGroupHeartbeatRequest(group_id, MEMBER, 0, None, [TOPIC]), 1)
    assert [row.partitions for row in joined.assignment.topic_partitions] == [[0]]
    produce(cluster, first, 6)
    sharer = Sharer(cluster, first, group_id, topic_id)
    assert until(sharer.fetch, "there are records") == dict.fromkeys(range(6), 1)
    sharer.say(0, 1, ACCEPT, 1)
    sharer.say(3, 3, REJECT, 2)
    cluster.brokers[first].kill()
    sharer.close()

    def other_leader() -> int | None:
        leader = cluster.leader_of(TOPIC, 0)
        return None if leader in (first, -1) else leader

    second = until(other_leader, "another leads")

    def went_on() -> Any:
        found = coordinator(cluster, second, GROUP, group_id)
        if found in (None, first):
            return None
        return ask_coordinator(
            cluster, found, ShareGroupHeartbeatRequest(group_id, MEMBER, joined.member_epoch), 1
        )

    heartbeat = until(went_on, "the group has another coordinator")
    assert (heartbeat.error_code, heartbeat.member_epoch) == (0, joined.member_epoch)
    sharer = Sharer(cluster, second, group_id, topic_id)
    again = until(sharer.fetch, "the records come again")
    assert again.keys() == {2, 4, 5}
    for number, offset in enumerate(again, start=1):
        sharer.say(offset, offset, ACCEPT, number)
    sharer.close()
    described = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup(group_id, None)
    keeper = until(lambda: coordinator(cluster, second, GROUP, group_id), "the group has its coordinator")
    (group,) = ask(cluster, keeper, DescribeShareGroupOffsetsRequest([described]), 1).groups
    (row,) = group.topics[0].partitions
    assert (row.error_code, row.lag) == (0, 0)
