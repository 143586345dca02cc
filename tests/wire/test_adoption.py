"""A broker whose metadata store was lost, but not its logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcompat import Broker
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.init_producer_id import InitProducerIdRequest
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.raw_client import RawClient

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

LATEST = -1


def client_of(broker: Broker) -> RawClient:
    host, port = broker.bootstrap_servers.rsplit(":", 1)
    return RawClient((host, int(port)))


def produce(client: RawClient, producer_id: int, sequence: int) -> Any:
    batch = build_batch(
        [Record(0, 1000, b"k", b"v")], producer_id=producer_id, producer_epoch=0, base_sequence=sequence
    )
    part = ProduceRequest.PartitionProduceData(1, memoryview(batch))
    topic = ProduceRequest.TopicProduceData(name="t", partition_data=[part])
    answer = client.call(ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[topic]), 8)
    (partition,) = answer.responses[0].partition_responses
    return partition.error_code, partition.base_offset


def end_offset(client: RawClient) -> int:
    part = ListOffsetsRequest.ListOffsetsPartition(partition_index=1, timestamp=LATEST)
    topic = ListOffsetsRequest.ListOffsetsTopic(name="t", partitions=[part])
    answer = client.call(ListOffsetsRequest(replica_id=-1, topics=[topic]), 5)
    return int(answer.topics[0].partitions[0].offset)


def test_logs_without_their_metadata_are_served_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Broker(data_dir=tmp_path, config={"broker.id": "5"}) as broker, client_of(broker) as client:
        wanted = CreateTopicsRequest.CreatableTopic(name="t", num_partitions=3, replication_factor=1)
        created = client.call(CreateTopicsRequest([wanted], timeout_ms=10_000), 5)
        assert created.topics[0].error_code == 0
        producer_id = client.call(InitProducerIdRequest(transactional_id=None), 2).producer_id
        assert [produce(client, producer_id, number) for number in (0, 1)] == [(0, 0), (0, 1)]
        before = client.call(MetadataRequest(topics=None), 12)
    (tmp_path / "metadata.db").unlink()
    with Broker(data_dir=tmp_path) as broker, client_of(broker) as client:
        after = client.call(MetadataRequest(topics=None), 12)
        assert (after.cluster_id, after.controller_id) == (before.cluster_id, 5)
        assert [(topic.name, topic.topic_id) for topic in after.topics] == [
            (topic.name, topic.topic_id) for topic in before.topics
        ]
        assert [part.leader_id for part in after.topics[0].partitions] == [5, 5, 5]
        assert end_offset(client) == 2
        assert produce(client, producer_id, 1) == (0, 1), "a duplicate is recognised"
        assert produce(client, producer_id, 2) == (0, 2)
        assert client.call(InitProducerIdRequest(transactional_id=None), 2).producer_id >= 1000
    assert "Their configurations are not known" in caplog.text
