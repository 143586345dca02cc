"""ACLs over the wire: they hold on every broker, over a restart, and hide whether a name exists."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest

from kcompat import Broker, Cluster
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kcompat.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kcompat.protocol.messages.alter_configs import AlterConfigsRequest
from kcompat.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kcompat.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kcompat.protocol.messages.create_partitions import CreatePartitionsRequest
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.delete_groups import DeleteGroupsRequest
from kcompat.protocol.messages.delete_records import DeleteRecordsRequest
from kcompat.protocol.messages.delete_topics import DeleteTopicsRequest
from kcompat.protocol.messages.describe_configs import DescribeConfigsRequest
from kcompat.protocol.messages.describe_groups import DescribeGroupsRequest
from kcompat.protocol.messages.describe_producers import DescribeProducersRequest
from kcompat.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from kcompat.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kcompat.protocol.messages.end_txn import EndTxnRequest
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kcompat.protocol.messages.init_producer_id import InitProducerIdRequest
from kcompat.protocol.messages.join_group import JoinGroupRequest
from kcompat.protocol.messages.leave_group import LeaveGroupRequest
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.offset_commit import OffsetCommitRequest
from kcompat.protocol.messages.offset_delete import OffsetDeleteRequest
from kcompat.protocol.messages.offset_fetch import OffsetFetchRequest
from kcompat.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.protocol.messages.sync_group import SyncGroupRequest
from kcompat.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.eventually import eventually, limit_s
from support.raw_client import RawClient
from support.raw_requests import commit_offset, create_topic, find_coordinator
from support.stored_acls import creating, deleting, describing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kcompat.protocol.message import Message

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
STRANGER = "127.0.0.2"
TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID = 2, 3, 4, 5
THERE, ABSENT, OPEN = "secret-a", "secret-b", "open"
TIMEOUT_MS = 10_000
DENIAL = re.compile(r"error_code=(29|30|31|53)\b")
BATCH = build_batch([Record(0, 0, None, b"v")])


def client_of(address: str, source: str | None = None) -> RawClient:
    host, _, port = address.rpartition(":")
    return RawClient((host, int(port)), source=source)


def allowing(host: str, kind: int, name: str, operation: int = 2) -> dict[str, object]:
    return {
        "resource_type": kind,
        "resource_name": name,
        "principal": "User:ANONYMOUS",
        "host": host,
        "operation": operation,
    }


OPEN_TO_ALL = [allowing(STRANGER, kind, OPEN) for kind in (TOPIC, GROUP, TRANSACTIONAL_ID)]
MINE = [
    *(allowing("127.0.0.1", kind, "*") for kind in (TOPIC, GROUP, TRANSACTIONAL_ID)),
    allowing("127.0.0.1", CLUSTER, "kafka-cluster"),
]


def requests(name: str) -> Iterator[tuple[Message, int]]:
    """Yield requests about a topic, a group or a transactional id of this name, with their version."""
    fetched = FetchRequest.FetchTopic(name, partitions=[FetchRequest.FetchPartition(0)])
    produced = ProduceRequest.TopicProduceData(
        name, partition_data=[ProduceRequest.PartitionProduceData(0, memoryview(BATCH))]
    )
    offsets = ListOffsetsRequest.ListOffsetsTopic(name, [ListOffsetsRequest.ListOffsetsPartition(0)])
    epochs = OffsetForLeaderEpochRequest.OffsetForLeaderTopic(
        name, [OffsetForLeaderEpochRequest.OffsetForLeaderPartition(0)]
    )
    wanted = MetadataRequest.MetadataRequestTopic(name=name)
    yield MetadataRequest([wanted], allow_auto_topic_creation=True), 4
    yield MetadataRequest([wanted], include_topic_authorized_operations=True), 12
    yield DescribeTopicPartitionsRequest([DescribeTopicPartitionsRequest.TopicRequest(name)]), 0
    yield FetchRequest(topics=[fetched], max_wait_ms=1), 11
    yield ProduceRequest(None, 1, TIMEOUT_MS, [produced]), 9
    yield ListOffsetsRequest(-1, 0, [offsets]), 5
    yield OffsetForLeaderEpochRequest(-1, [epochs]), 3
    yield CreateTopicsRequest([CreateTopicsRequest.CreatableTopic(name, 1, 1)], TIMEOUT_MS), 5
    yield DeleteTopicsRequest(topic_names=[name], timeout_ms=TIMEOUT_MS), 4
    yield DeleteTopicsRequest([DeleteTopicsRequest.DeleteTopicState(name)], timeout_ms=TIMEOUT_MS), 6
    until = [DeleteRecordsRequest.DeleteRecordsPartition(0, 0)]
    yield DeleteRecordsRequest([DeleteRecordsRequest.DeleteRecordsTopic(name, until)], TIMEOUT_MS), 2
    yield CreatePartitionsRequest([CreatePartitionsRequest.CreatePartitionsTopic(name, 2)], TIMEOUT_MS), 2
    yield DescribeProducersRequest([DescribeProducersRequest.TopicRequest(name, [0])]), 0
    yield from _config_requests(name)
    yield from _offset_requests(name)
    yield from _group_requests(name)
    yield from _transaction_requests(name)


def _config_requests(name: str) -> Iterator[tuple[Message, int]]:
    for kind in (TOPIC, 32):
        described = DescribeConfigsRequest.DescribeConfigsResource(kind, name, None)
        yield DescribeConfigsRequest([described]), 4
        element = IncrementalAlterConfigsRequest.AlterableConfig("retention.ms", 0, "1")
        altered = IncrementalAlterConfigsRequest.AlterConfigsResource(kind, name, [element])
        yield IncrementalAlterConfigsRequest([altered]), 1
        yield AlterConfigsRequest([AlterConfigsRequest.AlterConfigsResource(kind, name, [])]), 2


def _offset_requests(name: str) -> Iterator[tuple[Message, int]]:
    committed = OffsetCommitRequest.OffsetCommitRequestTopic(
        name, partitions=[OffsetCommitRequest.OffsetCommitRequestPartition(0, 1)]
    )
    yield OffsetCommitRequest(OPEN, topics=[committed]), 7
    yield OffsetCommitRequest(name, topics=[committed]), 7
    topics = [OffsetFetchRequest.OffsetFetchRequestTopic(name, [0])]
    yield OffsetFetchRequest(OPEN, topics), 5
    yield OffsetFetchRequest(name, topics), 5
    yield OffsetFetchRequest(name, None), 5
    deleted = OffsetDeleteRequest.OffsetDeleteRequestTopic(
        name, [OffsetDeleteRequest.OffsetDeleteRequestPartition(0)]
    )
    yield OffsetDeleteRequest(OPEN, [deleted]), 0
    yield OffsetDeleteRequest(name, [deleted]), 0


def _group_requests(name: str) -> Iterator[tuple[Message, int]]:
    yield FindCoordinatorRequest(key_type=0, coordinator_keys=[name]), 4
    protocols = [JoinGroupRequest.JoinGroupRequestProtocol("range", b"")]
    yield JoinGroupRequest(name, 10_000, 10_000, "", None, "consumer", protocols), 5
    yield SyncGroupRequest(name, 1, "m"), 3
    yield HeartbeatRequest(name, 1, "m"), 3
    yield LeaveGroupRequest(name, members=[LeaveGroupRequest.MemberIdentity("m")]), 3
    yield DescribeGroupsRequest([name], include_authorized_operations=True), 5
    yield DeleteGroupsRequest([name]), 2
    yield ConsumerGroupDescribeRequest([name], include_authorized_operations=True), 0
    yield ConsumerGroupHeartbeatRequest(name, "m", 1), 0
    subscribing = ConsumerGroupHeartbeatRequest(
        OPEN, "", 0, rebalance_timeout_ms=1000, subscribed_topic_names=[name], topic_partitions=[]
    )
    yield subscribing, 0


def _transaction_requests(name: str) -> Iterator[tuple[Message, int]]:
    yield FindCoordinatorRequest(key_type=1, coordinator_keys=[name]), 4
    yield InitProducerIdRequest(name, 1000), 3
    yield DescribeTransactionsRequest([name]), 0
    yield EndTxnRequest(name, 5, 0), 3
    yield AddOffsetsToTxnRequest(name, 5, 0, OPEN), 3
    yield AddOffsetsToTxnRequest(OPEN, 5, 0, name), 3
    added = [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(topic, [0]) for topic in (name, OPEN)]
    yield AddPartitionsToTxnRequest([], OPEN, 5, 0, added), 3
    yield AddPartitionsToTxnRequest([], name, 5, 0, added), 3
    partitions = [TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(0, 1)]
    committed = [TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name, partitions=partitions)]
    for transactional_id, group in ((OPEN, OPEN), (OPEN, name), (name, OPEN)):
        yield TxnOffsetCommitRequest(transactional_id, group, 5, 0, topics=committed), 3


def begin(client: RawClient, name: str) -> int:
    """The error code of a transactional id that is used for the first time."""
    client.call(FindCoordinatorRequest(key=name, key_type=1), 2)
    return int(client.call(InitProducerIdRequest(name, 1000), 3).error_code)


@pytest.fixture(scope="module")
def stranger() -> Iterator[RawClient]:
    """A client that may use "open" alone, of a broker that has a topic, a group and a transactional id
    named "secret-a".
    """
    with Broker(config=AUTHORIZER) as broker, client_of(broker.bootstrap_servers) as maker:
        for topic in (THERE, OPEN):
            assert create_topic(maker, topic) == 0
        for name in (THERE, OPEN):
            eventually(lambda: find_coordinator(maker, name) == 0, "the group has a coordinator")  # noqa: B023
            eventually(lambda: commit_offset(maker, name, THERE, 1) == 0, "the group commits")  # noqa: B023
            eventually(lambda: begin(maker, name) == 0, "a transaction can begin")  # noqa: B023
        made = maker.call(creating(*MINE, *OPEN_TO_ALL), 3)
        assert {row.error_code for row in made.results} == {0}
        with client_of(broker.bootstrap_servers, STRANGER) as connection:
            yield connection


@pytest.mark.parametrize(
    "number", range(len(list(requests("")))), ids=lambda number: type(list(requests(""))[number][0]).__name__
)
def test_an_answer_does_not_tell_whether_a_name_exists(stranger: RawClient, number: int) -> None:
    answers = []
    for name in (THERE, ABSENT):
        request, version = list(requests(name))[number]
        answer = stranger.call(request, version)
        answers.append(b"".join(bytes(part) for part in answer.encode(version)))
    assert answers[1].replace(ABSENT.encode(), THERE.encode()) == answers[0]
    if not getattr(request, "subscribed_topic_names", None):  # a consumer may wait for what it cannot see
        assert DENIAL.search(repr(answer)), answer


def error_of_metadata(client: RawClient, topic: str) -> int:
    wanted = [MetadataRequest.MetadataRequestTopic(name=topic)]
    (row,) = client.call(MetadataRequest(wanted, allow_auto_topic_creation=False), 4).topics
    return int(row.error_code)


def test_acls_hold_on_every_broker_within_a_second() -> None:
    denial = allowing(STRANGER, TOPIC, THERE) | {"permission_type": 2}
    with Cluster(3, config=AUTHORIZER) as cluster:
        addresses = [broker.bootstrap_servers for broker in cluster.brokers]
        with client_of(addresses[0]) as maker:
            for _ in range(3):
                for request, error in ((creating(denial), 29), (deleting({}), 3)):
                    maker.call(request, 3)
                    began = time.monotonic()
                    for address in addresses:
                        with client_of(address, STRANGER) as client:
                            eventually(lambda: error_of_metadata(client, THERE) == error, "the ACL holds")  # noqa: B023
                    assert time.monotonic() - began < limit_s(1)


def test_acls_hold_after_a_restart(tmp_path: Path) -> None:
    for is_first in (True, False):
        with Broker(data_dir=tmp_path, config=AUTHORIZER) as broker:
            with client_of(broker.bootstrap_servers) as maker:
                if is_first:
                    made = maker.call(creating(*MINE, allowing(STRANGER, GROUP, "a/b")), 3)
                    assert {row.error_code for row in made.results} == {0}
                listed = maker.call(describing(), 3)
                assert len(listed.resources) == 5
            with client_of(broker.bootstrap_servers, STRANGER) as client:
                assert error_of_metadata(client, THERE) == ErrorCode.TOPIC_AUTHORIZATION_FAILED
                described = client.call(describing(), 3)
                assert described.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
                (group,) = client.call(DescribeGroupsRequest(["a/b"]), 5).groups
                assert group.error_code != ErrorCode.GROUP_AUTHORIZATION_FAILED
