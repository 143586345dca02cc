"""`groups` of an embedded broker and a cluster: groups of every kind, made by raw clients."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Broker, Cluster
from kcompat.instrumentation.groups import Group, GroupMember, GroupOffset
from kcompat.instrumentation.new_records import NewRecord
from kcompat.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kcompat.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from kcompat.protocol.messages.join_group import JoinGroupRequest
from kcompat.protocol.messages.offset_commit import OffsetCommitRequest
from kcompat.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from kcompat.protocol.messages.share_fetch import ShareFetchRequest
from kcompat.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kcompat.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from kcompat.protocol.messages.sync_group import SyncGroupRequest
from kcompat.protocol.uuids import uuid_from_text
from support.eventually import eventually, limit_s
from support.raw_client import RawClient
from support.raw_requests import commit_offset, find_coordinator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.protocol.message import Message

TOPIC, SHARED = "t", "shared"
CONFIG = {
    "num.partitions": 2,
    "offsets.topic.num.partitions": 3,
    "group.initial.rebalance.delay.ms": 0,
    "group.consumer.assignment.interval.ms": 0,
    "group.share.assignment.interval.ms": 0,
    "group.streams.assignment.interval.ms": 0,
    "group.streams.initial.rebalance.delay.ms": 0,
    "share.coordinator.state.topic.num.partitions": 3,
}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(config=CONFIG) as started:
        for topic in (TOPIC, SHARED):
            started.add_all(topic, [f"{n}" for n in range(10)])
        yield started


@pytest.fixture
def client(broker: Broker) -> Iterator[RawClient]:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    with RawClient((host, int(port)), limit_s(20)) as client:
        assert find_coordinator(client, "any") == 0
        yield client


def versioned(message: Message) -> bytes:
    """The bytes of a subscription or an assignment, in version 1."""
    return struct.pack(">h", 1) + b"".join(map(bytes, message.encode(1)))


def join_classic(client: RawClient, group_id: str, protocol_type: str, metadata: bytes) -> str:
    """Join a group as its only member, without a second step for the member id."""
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=metadata)
    request = JoinGroupRequest(
        group_id=group_id,
        group_instance_id=f"{group_id}-1",
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        protocol_type=protocol_type,
        protocols=[protocol],
    )
    joined = client.call(request, 5)
    assert joined.error_code == 0
    return str(joined.member_id)


def assign_classic(client: RawClient, group_id: str, member_id: str, assignment: bytes) -> None:
    row = SyncGroupRequest.SyncGroupRequestAssignment(member_id, assignment)
    request = SyncGroupRequest(group_id, 1, member_id, f"{group_id}-1", assignments=[row])
    assert client.call(request, 3).error_code == 0


def test_a_classic_group_of_consumers(broker: Broker, client: RawClient) -> None:
    member_id = join_classic(
        client, "classic", "consumer", versioned(ConsumerProtocolSubscription(topics=[TOPIC]))
    )
    joining = broker.groups()["classic"]
    assert (joining.state, joining.members[0].assignment) == ("CompletingRebalance", {})
    assigned = ConsumerProtocolAssignment.TopicPartition(TOPIC, [1, 0])
    assign_classic(
        client, "classic", member_id, versioned(ConsumerProtocolAssignment(assigned_partitions=[assigned]))
    )
    partitions = [
        OffsetCommitRequest.OffsetCommitRequestPartition(index, offset, committed_metadata="note")
        for index, offset in ((1, 2), (0, 5))
    ]
    commit = OffsetCommitRequest(
        "classic",
        1,
        member_id,
        "classic-1",
        topics=[OffsetCommitRequest.OffsetCommitRequestTopic(TOPIC, partitions=partitions)],
    )
    assert client.call(commit, 7).topics[0].partitions[0].error_code == 0
    group = broker.groups()["classic"]
    assert group == Group(
        "classic",
        "classic",
        "Stable",
        "consumer",
        "range",
        -1,
        [
            GroupMember(
                member_id,
                group.members[0].client_id,
                "/127.0.0.1",
                "classic-1",
                subscription=[TOPIC],
                assignment={TOPIC: [0, 1]},
            )
        ],
        [GroupOffset(TOPIC, 0, 5, 5, 0, "note"), GroupOffset(TOPIC, 1, 2, 5, 3, "note")],
    )
    assert (group.lag, group.offset(TOPIC, 1), group.offset(TOPIC, 7)) == (3, group.offsets[1], None)
    assert repr(group).splitlines() == [
        "<Group classic classic Stable range",
        f"  {group.members[0].client_id} at /127.0.0.1: {{'t': [0, 1]}}",
        "  t-0: 5 of 5, lag 0",
        "  t-1: 2 of 5, lag 3>",
    ]


def test_a_classic_group_of_other_programs(broker: Broker, client: RawClient) -> None:
    member_id = join_classic(client, "connect", "connect", b"\0\0a worker's own")
    assign_classic(client, "connect", member_id, b"\0\0a worker's own")
    group = broker.groups()["connect"]
    assert (group.state, group.protocol_type, group.assignor) == ("Stable", "connect", "range")
    assert (group.members[0].subscription, group.members[0].assignment) == ([], {})


def test_a_group_without_members(broker: Broker, client: RawClient) -> None:
    assert commit_offset(client, "simple", TOPIC, 2) == 0
    group = broker.groups()["simple"]
    assert (group.kind, group.state, group.members) == ("classic", "Empty", [])
    assert group.offsets == [GroupOffset(TOPIC, 0, 2, 5, 3)]


def beat(client: RawClient, request: Any, version: int) -> Any:
    answer = client.call(request, version)
    assert answer.error_code == 0, answer
    return answer


def test_a_consumer_group(broker: Broker, client: RawClient) -> None:
    beat(
        client,
        ConsumerGroupHeartbeatRequest(
            "modern", "m", 0, "static", "rack-a", 30_000, [TOPIC], topic_partitions=[]
        ),
        1,
    )
    assert commit_offset(client, "plain", TOPIC, 0) == 0
    group = eventually(lambda: has_assignment(broker, "modern"), "the member has its partitions")
    assert (group.kind, group.state, group.assignor) == ("consumer", "Stable", "uniform")
    (member,) = group.members
    assert (member.id, member.instance_id, member.rack, member.subscription) == (
        "m",
        "static",
        "rack-a",
        [TOPIC],
    )
    assert member.assignment == member.target == {TOPIC: [0, 1]}
    assert member.epoch == group.epoch >= 1


def has_assignment(broker: Broker, group_id: str) -> Group | None:
    group = broker.groups()[group_id]
    return group if group.members and group.members[0].assignment else None


def test_a_share_group(broker: Broker, client: RawClient) -> None:
    epoch = 0

    def joined() -> Group | None:
        nonlocal epoch
        topics = [SHARED] if epoch == 0 else None
        epoch = beat(client, ShareGroupHeartbeatRequest("sharing", "m", epoch, None, topics), 1).member_epoch
        group = has_assignment(broker, "sharing")
        return group if group and group.offsets else None

    group = eventually(joined, "the member has its partitions and they have start offsets")
    assert (group.kind, group.state, group.assignor) == ("share", "Stable", "simple")
    assert group.members[0].assignment == {SHARED: [0, 1]}
    assert group.offsets == [GroupOffset(SHARED, index, -1, 5, -1) for index in (0, 1)]
    take_one(broker, client)
    assert broker.groups()["sharing"].offset(SHARED) == GroupOffset(SHARED, 0, 5, 7, 1)


def take_one(broker: Broker, client: RawClient) -> None:
    """Add two records to partition 0, and have the share group accept the first of them."""
    topic_id = uuid_from_text(broker.topics()[SHARED].id)
    wanted = ShareFetchRequest.FetchTopic(topic_id, [ShareFetchRequest.FetchPartition(0)])
    beat(client, ShareFetchRequest("sharing", "m", 0, max_records=1, batch_size=1, topics=[wanted]), 1)
    broker.add_all(SHARED, [NewRecord("v", partition=0)] * 2)
    epoch = 0

    def acquired() -> bool:
        nonlocal epoch
        epoch += 1
        request = ShareFetchRequest(
            "sharing", "m", epoch, max_wait_ms=100, min_bytes=1, max_records=1, batch_size=1
        )
        answer = beat(client, request, 1)
        return any(row.acquired_records for topic in answer.responses for row in topic.partitions)

    eventually(acquired, "a record is delivered")
    batch = ShareAcknowledgeRequest.AcknowledgementBatch(5, 5, [1])
    row = ShareAcknowledgeRequest.AcknowledgePartition(0, [batch])
    topics = [ShareAcknowledgeRequest.AcknowledgeTopic(topic_id, [row])]
    beat(client, ShareAcknowledgeRequest("sharing", "m", epoch + 1, topics=topics), 1)


def test_a_streams_group(broker: Broker, client: RawClient) -> None:
    request = StreamsGroupHeartbeatRequest
    topology = request.Topology(0, [request.Subtopology("0", [TOPIC])])
    epoch = 0

    def joined() -> Group | None:
        nonlocal epoch
        first = {
            "rebalance_timeout_ms": 60_000,
            "topology": topology,
            "active_tasks": [],
            "standby_tasks": [],
            "warmup_tasks": [],
            "process_id": "p",
        }
        asked = request("streams", "m", epoch, **(first if epoch == 0 else {}))  # type: ignore[arg-type]
        epoch = beat(client, asked, 0).member_epoch
        return has_assignment(broker, "streams")

    group = eventually(joined, "the member has its tasks")
    assert (group.kind, group.state) == ("streams", "Stable")
    (member,) = group.members
    assert member.tasks == {"active": ["0_0", "0_1"], "standby": [], "warmup": []}
    assert (member.subscription, member.assignment) == ([TOPIC], {TOPIC: [0, 1]})


def commit_where_it_is_coordinated(client: RawClient, group_id: str) -> None:
    """Commit an offset if this broker coordinates the group."""
    eventually(lambda: find_coordinator(client, group_id) == 0, "there is a coordinator")
    commit_offset(client, group_id, TOPIC, 1)


def test_groups_of_a_cluster_whose_coordinator_is_lost() -> None:
    config = {**CONFIG, "default.replication.factor": 3, "offsets.topic.replication.factor": 3}
    with Cluster(3, config=config) as cluster:
        cluster.add_all(TOPIC, ["a", "b"])
        ids = [f"g{number}" for number in range(6)]  # among the coordinators of three partitions
        for broker in cluster.brokers:
            host, _, port = broker.bootstrap_servers.rpartition(":")
            with RawClient((host, int(port)), limit_s(20)) as client:
                for group_id in ids:
                    commit_where_it_is_coordinated(client, group_id)
        assert list(cluster.groups()) == ids
        cluster.wait_until_in_sync(limit_s(30))
        cluster.brokers[0].stop()
        groups = eventually(
            lambda: (found := cluster.groups()) and len(found) == len(ids) and found, "all are there"
        )
        assert {each.offset(TOPIC).committed for each in groups.values()} == {1}
