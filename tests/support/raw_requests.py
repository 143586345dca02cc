"""The few requests that tests of a whole broker make, each about one partition, answered by its part of the
response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.delete_records import DeleteRecordsRequest
from kcompat.protocol.messages.delete_topics import DeleteTopicsRequest
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcompat.protocol.messages.init_producer_id import InitProducerIdRequest
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.offset_commit import OffsetCommitRequest
from kcompat.protocol.messages.offset_fetch import OffsetFetchRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.batch import iter_headers, read_records
from support.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kcompat.records.record import Record
    from support.raw_client import RawClient

ACKS_ALL = -1
EARLIEST_TIMESTAMP = -2
FETCH_BYTES = 1 << 20


def create_topic(
    client: RawClient,
    name: str,
    partitions: int = 1,
    configs: Mapping[str, str] | None = None,
    replicas: int = 1,
) -> int:
    """The error code of creating one topic."""
    rows = [CreateTopicsRequest.CreatableTopicConfig(key, value) for key, value in (configs or {}).items()]
    topic = CreateTopicsRequest.CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=replicas, configs=rows
    )
    return int(client.call(CreateTopicsRequest(topics=[topic]), 4).topics[0].error_code)


def delete_topic(client: RawClient, name: str) -> int:
    """The error code of deleting one topic."""
    request = DeleteTopicsRequest(topic_names=[name], timeout_ms=5000)
    return int(client.call(request, 5).responses[0].error_code)


def describe_topic(client: RawClient, name: str) -> Any:
    """One topic's metadata, which is never created by asking."""
    wanted = MetadataRequest.MetadataRequestTopic(name=name)
    request = MetadataRequest(topics=[wanted], allow_auto_topic_creation=False)
    return client.call(request, 10).topics[0]


def known_topic(client: RawClient, name: str) -> Any:
    """One topic's metadata, as soon as the broker has a leader for each of its partitions."""

    def known() -> Any:
        topic = describe_topic(client, name)
        return None if topic.error_code else topic

    return eventually(known, f"the broker knows {name}")


def produce(
    client: RawClient, topic: str, batch: bytes | bytearray, partition: int = 0, acks: int = 1
) -> Any:
    """The answer to one batch."""
    data = ProduceRequest.PartitionProduceData(index=partition, records=memoryview(batch))
    topic_data = ProduceRequest.TopicProduceData(name=topic, partition_data=[data])
    response = client.call(ProduceRequest(acks=acks, timeout_ms=5000, topic_data=[topic_data]), 9)
    return response.responses[0].partition_responses[0]


def fetch_request(topic: str, offset: int = 0, partition: int = 0, max_wait_ms: int = 0) -> FetchRequest:
    """A fetch of one partition, for any version up to 12."""
    wanted = FetchRequest.FetchPartition(
        partition=partition, fetch_offset=offset, partition_max_bytes=FETCH_BYTES
    )
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=FETCH_BYTES,
        topics=[FetchRequest.FetchTopic(topic=topic, partitions=[wanted])],
    )


def fetch(client: RawClient, topic: str, offset: int, partition: int = 0, max_wait_ms: int = 0) -> Any:
    """Fetch once from `offset` on, and return the partition's row."""
    request = fetch_request(topic, offset, partition, max_wait_ms)
    return client.call(request, 11).responses[0].partitions[0]


def earliest_offset(client: RawClient, topic: str, partition: int = 0) -> int:
    """Where the partition's log starts."""
    wanted = ListOffsetsRequest.ListOffsetsPartition(partition_index=partition, timestamp=EARLIEST_TIMESTAMP)
    named = ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[wanted])
    request = ListOffsetsRequest(replica_id=-1, topics=[named])
    found = client.call(request, 5).topics[0].partitions[0]
    assert found.error_code == 0, found
    return int(found.offset)


def read_all(client: RawClient, topic: str, partition: int = 0, offset: int = 0) -> Iterator[Record]:
    """Every record from `offset` to the end of the partition."""
    while True:
        fetched = fetch(client, topic, offset, partition)
        assert fetched.error_code == 0, fetched
        records = memoryview(fetched.records or b"")
        for position, header in iter_headers(records):
            for record in read_records(records[position : position + header.size]):
                if record.offset >= offset:
                    yield record
            offset = header.next_offset
        if not records:
            return


def delete_records(client: RawClient, topic: str, offset: int, partition: int = 0) -> Any:
    """The answer to moving the start of one partition."""
    wanted = DeleteRecordsRequest.DeleteRecordsPartition(partition_index=partition, offset=offset)
    named = DeleteRecordsRequest.DeleteRecordsTopic(name=topic, partitions=[wanted])
    return client.call(DeleteRecordsRequest(topics=[named], timeout_ms=5000), 1).topics[0].partitions[0]


def init_producer_id(client: RawClient) -> tuple[int, int]:
    """A fresh producer id and its epoch."""
    response = client.call(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), 3)
    assert response.error_code == 0
    return response.producer_id, response.producer_epoch


def find_coordinator(client: RawClient, group: str) -> int:
    """The error code of asking for a group's coordinator, which creates the offsets topic."""
    return int(client.call(FindCoordinatorRequest(key=group), 2).error_code)


def commit_offset(client: RawClient, group: str, topic: str, offset: int, metadata: str = "") -> int:
    """The error code of a commit from outside the group, for partition 0."""
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(
        partition_index=0, committed_offset=offset, committed_metadata=metadata
    )
    named = OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, partitions=[partition])
    request = OffsetCommitRequest(group_id=group, topics=[named])
    return int(client.call(request, 7).topics[0].partitions[0].error_code)


def committed_offset(client: RawClient, group: str, topic: str, partition: int = 0) -> Any:
    """Return a group's committed offset of a partition."""
    named = OffsetFetchRequest.OffsetFetchRequestTopic(name=topic, partition_indexes=[partition])
    return client.call(OffsetFetchRequest(group_id=group, topics=[named]), 5).topics[0].partitions[0]
