"""Clients that leave something behind that expires: a record, an open transaction, a member of a group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kcompat.protocol.messages.describe_groups import DescribeGroupsRequest
from kcompat.protocol.messages.describe_producers import DescribeProducersRequest
from kcompat.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kcompat.protocol.messages.end_txn import EndTxnRequest
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.init_producer_id import InitProducerIdRequest
from kcompat.protocol.messages.join_group import JoinGroupRequest
from kcompat.protocol.messages.offset_commit import OffsetCommitRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.protocol.messages.sync_group import SyncGroupRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.eventually import eventually
from support.raw_client import RawClient
from support.raw_requests import find_coordinator, produce

if TYPE_CHECKING:
    from kcompat import Broker

SESSION_S, TIMEOUT_S = 30, 60
"""Seconds of the sessions of members, and of transactions."""


def client_of(broker: Any) -> RawClient:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    return RawClient((host, int(port)))


def write(broker: Broker, client: RawClient, topic: str) -> None:
    """Append a record with the broker's time."""
    assert produce(client, topic, build_batch([Record(0, broker.now_ms, b"k", b"v")])).error_code == 0


def active_producers(client: RawClient, topic: str) -> list[int]:
    request = DescribeProducersRequest([DescribeProducersRequest.TopicRequest(topic, [0])])
    (row,) = client.call(request, 0).topics[0].partitions
    return [each.producer_id for each in row.active_producers]


def initialized(client: RawClient, transactional_id: str, timeout_ms: int) -> tuple[int, int]:
    """Id and epoch of a producer with a transactional id."""
    find = FindCoordinatorRequest(key=transactional_id, key_type=1)
    eventually(lambda: client.call(find, 2).error_code == 0, "there is a coordinator")
    request = InitProducerIdRequest(transactional_id, timeout_ms)

    def producer() -> tuple[int, int] | None:
        answer = client.call(request, 3)
        return (answer.producer_id, answer.producer_epoch) if not answer.error_code else None

    found = eventually(producer, "the coordinator has loaded")
    assert found is not None
    return found


class Transaction:
    """An open transaction with one record."""

    def __init__(
        self, broker: Broker, client: RawClient, name: str, timeout_ms: int = TIMEOUT_S * 1000
    ) -> None:
        self._client = client
        self.name = name
        self.producer = initialized(client, name, timeout_ms)
        topics = [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name, [0])]
        added = client.call(
            AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=name,
                v3_and_below_producer_id=self.producer[0],
                v3_and_below_producer_epoch=self.producer[1],
                v3_and_below_topics=topics,
            ),
            3,
        )
        assert added.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code == 0
        producer_id, epoch = self.producer
        batch = build_batch(
            [Record(0, broker.now_ms, None, b"v")],
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=0,
            transactional=True,
        )
        assert self._produce(batch).error_code == 0

    def _produce(self, batch: bytearray) -> Any:
        data = ProduceRequest.PartitionProduceData(0, memoryview(batch))
        topic = ProduceRequest.TopicProduceData(name=self.name, partition_data=[data])
        request = ProduceRequest(self.name, acks=-1, timeout_ms=5000, topic_data=[topic])
        return self._client.call(request, 9).responses[0].partition_responses[0]

    def commit(self) -> int:
        """The error code of an attempt to commit."""
        return int(self._client.call(EndTxnRequest(self.name, *self.producer, True), 3).error_code)

    def state(self) -> str | int:
        """The state as the coordinator tells it, or the error code."""
        (row,) = self._client.call(DescribeTransactionsRequest([self.name]), 0).transaction_states
        return int(row.error_code) or str(row.transaction_state)


class Member:
    """The only member of a classic group."""

    def __init__(self, client: RawClient, group: str) -> None:
        self._client = client
        self.group = group
        eventually(lambda: find_coordinator(client, group) == 0)
        protocol = JoinGroupRequest.JoinGroupRequestProtocol("range", b"m")

        def join(member_id: str) -> Any:
            request = JoinGroupRequest(
                group,
                SESSION_S * 1000,
                SESSION_S * 1000,
                member_id,
                protocol_type="consumer",
                protocols=[protocol],
            )
            return client.call(request, 5)

        answer = eventually(lambda: self._in_time(join("")))
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            answer = join(answer.member_id)
        assert answer.error_code == 0
        self.id, self.generation = answer.member_id, answer.generation_id
        row = SyncGroupRequest.SyncGroupRequestAssignment(self.id, b"a")
        synced = client.call(SyncGroupRequest(group, self.generation, self.id, assignments=[row]), 3)
        assert synced.error_code == 0

    @staticmethod
    def _in_time(answer: Any) -> Any:
        loading = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return None if answer.error_code in loading else answer

    def heartbeat(self) -> int:
        """The error code of a heartbeat."""
        return int(self._client.call(HeartbeatRequest(self.group, self.generation, self.id), 3).error_code)

    def commit(self, topic: str, offset: int) -> None:
        """Commit an offset of partition 0."""
        partition = OffsetCommitRequest.OffsetCommitRequestPartition(0, offset)
        topics = [OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, partitions=[partition])]
        request = OffsetCommitRequest(self.group, self.generation, self.id, topics=topics)
        assert self._client.call(request, 7).topics[0].partitions[0].error_code == 0

    def state(self) -> str:
        """The group's state."""
        return str(self._client.call(DescribeGroupsRequest([self.group]), 4).groups[0].group_state)
