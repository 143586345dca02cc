"""A client of 2013 to 2015: never asks for versions, speaks the oldest of everything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import old_messages as old
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.join_group import JoinGroupRequest
from kcompat.protocol.messages.leave_group import LeaveGroupRequest
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.offset_commit import OffsetCommitRequest
from kcompat.protocol.messages.offset_fetch import OffsetFetchRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.protocol.messages.sync_group import SyncGroupRequest
from support.eventually import Patience
from support.raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.broker_process import BrokerProcess

SENT = old.message(0, 0, b"key", b"one") + old.message(0, 1, None, b"two")
PATIENCE_S = 30
UNKNOWN_MEMBER_ID = 25


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[RawClient]:
    with RawClient(("127.0.0.1", broker.port), timeout_s=PATIENCE_S) as opened:
        yield opened


def patiently(ask: Callable[[], Any], is_good: Callable[[Any], bool]) -> Any:
    """Ask until the answer is good: topics and coordinators may take a moment."""
    patience = Patience(PATIENCE_S)
    while not is_good(answer := ask()):
        assert patience.lasts, answer
    return answer


def make_topic(client: RawClient, name: str) -> Any:
    """Metadata v0, which creates the topic."""
    request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=name)])
    return patiently(lambda: client.call(request, 0), lambda answer: answer.topics[0].error_code == 0)


def produce_request(topic: str, data: bytes, acks: int = 1) -> ProduceRequest:
    row = ProduceRequest.PartitionProduceData(index=0, records=data)
    topics = [ProduceRequest.TopicProduceData(name=topic, partition_data=[row])]
    return ProduceRequest(acks=acks, timeout_ms=5000, topic_data=topics)


def fetch_request(topic: str, max_wait_ms: int = 0) -> FetchRequest:
    row = FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=100_000)
    wanted = FetchRequest.FetchTopic(topic=topic, partitions=[row])
    return FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, topics=[wanted])


def fetch(client: RawClient, topic: str) -> Any:
    return client.call(fetch_request(topic), 0).responses[0].partitions[0]


def produce(client: RawClient, topic: str) -> None:
    request = produce_request(topic, SENT)
    answer = patiently(
        lambda: client.call(request, 0).responses[0].partition_responses[0],
        lambda answer: answer.error_code == 0,
    )
    assert answer.base_offset == 0


def test_write_and_read(broker: BrokerProcess, client: RawClient, name: str) -> None:
    metadata = make_topic(client, name)
    assert [(b.host, b.port) for b in metadata.brokers] == [("127.0.0.1", broker.port)]
    assert metadata.topics[0].partitions[0].leader_id == metadata.brokers[0].node_id
    produce(client, name)
    assert bytes(fetch(client, name).records).startswith(SENT)
    for timestamp, offset in ((-2, 0), (-1, 2)):
        row = ListOffsetsRequest.ListOffsetsPartition(timestamp=timestamp, max_num_offsets=1)
        topic = ListOffsetsRequest.ListOffsetsTopic(name=name, partitions=[row])
        answer = client.call(ListOffsetsRequest(replica_id=-1, topics=[topic]), 0)
        found = answer.topics[0].partitions[0]
        assert (found.error_code, list(found.old_style_offsets)) == (0, [offset])


def test_acks_0(broker: BrokerProcess, client: RawClient, name: str) -> None:
    make_topic(client, name)
    produce(client, name)
    client.send(produce_request(name, SENT, acks=0), 0)
    answer = patiently(lambda: fetch(client, name), lambda answer: answer.high_watermark == 4)
    assert [m.offset for m in old.flatten(bytes(answer.records))] == [0, 1, 2, 3]
    client.send(produce_request(name, SENT[:-1] + b"?", acks=0), 0)
    with pytest.raises(ConnectionError):
        fetch(client, name)


def test_a_fetch_waits_for_what_comes(broker: BrokerProcess, client: RawClient, name: str) -> None:
    make_topic(client, name)
    patiently(lambda: fetch(client, name), lambda answer: answer.error_code == 0)
    with RawClient(("127.0.0.1", broker.port)) as reader:
        reader.send(fetch_request(name, max_wait_ms=PATIENCE_S * 1000), 0)
        produce(client, name)
        answer = reader.receive(FetchRequest, 0).responses[0].partitions[0]
    assert bytes(answer.records).startswith(SENT)


def test_a_group(broker: BrokerProcess, client: RawClient, name: str) -> None:
    make_topic(client, name)
    find = FindCoordinatorRequest(key=name)
    found = patiently(lambda: client.call(find, 0), lambda answer: answer.error_code == 0)
    assert (found.host, found.port) == ("127.0.0.1", broker.port)
    stranger = HeartbeatRequest(group_id=name, generation_id=1, member_id="nobody")
    patiently(lambda: client.call(stranger, 0), lambda answer: answer.error_code == UNKNOWN_MEMBER_ID)
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"what I read")
    join = JoinGroupRequest(
        group_id=name, session_timeout_ms=10_000, member_id="", protocol_type="of old", protocols=[protocol]
    )
    joined = patiently(lambda: client.call(join, 0), lambda answer: answer.error_code == 0)
    me, generation = joined.member_id, joined.generation_id
    assert me
    assert (joined.leader, joined.protocol_name) == (me, "range")
    assert [(m.member_id, bytes(m.metadata)) for m in joined.members] == [(me, b"what I read")]
    mine = SyncGroupRequest.SyncGroupRequestAssignment(member_id=me, assignment=b"all of it")
    sync = SyncGroupRequest(group_id=name, generation_id=generation, member_id=me, assignments=[mine])
    synced = client.call(sync, 0)
    assert (synced.error_code, bytes(synced.assignment)) == (0, b"all of it")
    beat = HeartbeatRequest(group_id=name, generation_id=generation, member_id=me)
    assert client.call(beat, 0).error_code == 0
    row = OffsetCommitRequest.OffsetCommitRequestPartition(
        partition_index=0, committed_offset=7, committed_metadata="note"
    )
    commit = OffsetCommitRequest(
        group_id=name,
        generation_id_or_member_epoch=generation,
        member_id=me,
        topics=[OffsetCommitRequest.OffsetCommitRequestTopic(name=name, partitions=[row])],
    )
    assert client.call(commit, 1).topics[0].partitions[0].error_code == 0
    asked = OffsetFetchRequest.OffsetFetchRequestTopic(name=name, partition_indexes=[0])
    (kept,) = client.call(OffsetFetchRequest(group_id=name, topics=[asked]), 1).topics[0].partitions
    assert (kept.error_code, kept.committed_offset, kept.metadata) == (0, 7, "note")
    assert client.call(LeaveGroupRequest(group_id=name, member_id=me), 0).error_code == 0
    assert client.call(beat, 0).error_code == UNKNOWN_MEMBER_ID
