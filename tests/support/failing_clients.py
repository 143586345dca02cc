"""Clients of a whole broker that fail, each in one way, and what they have in common."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kcompat.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from kcompat.protocol.messages.end_txn import EndTxnRequest
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.init_producer_id import InitProducerIdRequest
from kcompat.protocol.messages.join_group import JoinGroupRequest
from kcompat.protocol.messages.leave_group import LeaveGroupRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.offset_commit import OffsetCommitRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kcompat.protocol.messages.sync_group import SyncGroupRequest
from kcompat.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kcompat.records.batch import build_batch
from kcompat.records.compression import Codec
from kcompat.records.record import Record
from support.eventually import eventually
from support.expiring_clients import Transaction
from support.raw_client import RawClient, request_frame
from support.raw_requests import ACKS_ALL, create_topic, fetch, fetch_request, produce

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat import Broker, Cluster
    from kcompat.embedded.cluster import ClusterBroker

_NUMBERS = count()


def address(broker: Broker | ClusterBroker) -> tuple[str, int]:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    return host, int(port)


def connect(broker: Broker | ClusterBroker) -> RawClient:
    """A client with an id of its own, so that its first failure has a line."""
    return RawClient(address(broker), client_id=f"app-{next(_NUMBERS)}")


def send(broker: Broker, data: bytes, source: str = "127.0.0.1") -> None:
    """Send bytes, and wait until the broker closes the connection."""
    with socket.create_connection(address(broker), 30, (source, 0)) as sock:
        sock.sendall(data)
        try:
            while sock.recv(1000):
                pass
        except ConnectionError:
            pass


def shake_hands(broker: Broker) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with suppress(OSError), connect(broker) as client:
        context.wrap_socket(client._socket)


def batch(size: int = 10, timestamp: int = 0, key: bytes | None = None, **fields: Any) -> bytearray:
    return build_batch([Record(0, timestamp, key, bytes(size))], **fields)


def damaged(place: int, value: int) -> bytearray:
    data = batch()
    data[place] = value
    return data


def producing(data: bytes | bytearray, topic: str = "t", **fields: Any) -> Callable[[Broker], None]:
    def act(broker: Broker) -> None:
        with connect(broker) as client:
            assert produce(client, topic, data, **fields).error_code

    return act


def produce_nowhere(broker: Broker) -> None:
    with connect(broker) as client:
        for _ in range(3):
            assert produce(client, "t", batch(), partition=7).error_code == 3


def produce_in_turn(broker: Broker, *batches: bytearray) -> None:
    with connect(broker) as client:
        *good, bad = [produce(client, "t", each).error_code for each in batches]
        assert not any(good)
        assert bad


def ask_for(topic: str, times: int, *, create: bool) -> Callable[[Broker], None]:
    def act(broker: Broker) -> None:
        wanted = [MetadataRequest.MetadataRequestTopic(name=topic)]
        with connect(broker) as client:
            for _ in range(times):
                client.call(MetadataRequest(topics=wanted, allow_auto_topic_creation=create), 10)

    return act


def join(client: RawClient, group: str, **fields: Any) -> Any:
    fields = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000, **fields}
    protocols = [JoinGroupRequest.JoinGroupRequestProtocol("range", b"\0\0\0\0\0\0\0\0\0\0")]
    request = JoinGroupRequest(group_id=group, protocol_type="consumer", protocols=protocols, **fields)
    return client.call(request, 5)


def member_of(client: RawClient, group: str, **fields: Any) -> Any:
    """The answer to the second join, with the id that the first one gave."""
    first = join(client, group, **fields)
    return join(client, group, member_id=first.member_id, **fields) if first.error_code == 79 else first


def heartbeat_of_the_former(broker: Broker) -> None:
    with connect(broker) as client:
        former = member_of(client, "static", group_instance_id="i")
        assert not member_of(client, "static", group_instance_id="i").error_code
        request = HeartbeatRequest("static", former.generation_id, former.member_id, "i")
        assert client.call(request, 3).error_code == 82


def commit_of_the_former(broker: Broker) -> None:
    with connect(broker) as client:
        former = member_of(client, "static-commit", group_instance_id="i")
        assert not member_of(client, "static-commit", group_instance_id="i").error_code
        row = OffsetCommitRequest.OffsetCommitRequestPartition(0, 5)
        topics = [OffsetCommitRequest.OffsetCommitRequestTopic("t", partitions=[row])]
        member = (former.generation_id, former.member_id, "i")
        answer = client.call(OffsetCommitRequest("static-commit", *member, topics=topics), 7)
        assert answer.topics[0].partitions[0].error_code == 82


def add_offsets_of_the_former(broker: Broker) -> None:
    group, name = "static-tx", "tx-static"
    with connect(broker) as client:
        assert not client.call(FindCoordinatorRequest(key=name, key_type=1), 2).error_code
        init = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=10_000)
        made = eventually(lambda: at_best(client.call(init, 4)), "the coordinator is loaded")
        producer = (made.producer_id, made.producer_epoch)
        former = member_of(client, group, group_instance_id="i")
        assert not member_of(client, group, group_instance_id="i").error_code
        assert not client.call(AddOffsetsToTxnRequest(name, *producer, group), 3).error_code
        row = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(0, 5)
        topics = [TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic("t", partitions=[row])]
        commit = TxnOffsetCommitRequest(
            name, group, *producer, former.generation_id, former.member_id, "i", topics
        )
        answer = client.call(commit, 3)
        assert answer.topics[0].partitions[0].error_code == 82


def fall_silent(broker: Broker) -> None:
    with connect(broker) as client:
        joined = member_of(client, "silent", session_timeout_ms=50)
        assert not joined.error_code
        sync = SyncGroupRequest("silent", joined.generation_id, joined.member_id)
        assert not client.call(sync, 2).error_code
        request = HeartbeatRequest("silent", joined.generation_id, joined.member_id)
        eventually(lambda: client.call(request, 2).error_code == 25, "the session has ended", poll_s=0.2)


def come_and_go(broker: Broker) -> None:
    with connect(broker) as client:
        for _ in range(5):
            joined = member_of(client, "restless")
            assert not joined.error_code
            assert not client.call(LeaveGroupRequest("restless", joined.member_id), 2).error_code


def end_as_the_former(broker: Broker) -> None:
    with connect(broker) as client:
        assert find_coordinator_of_transactions(client)
        init = InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=10_000)
        former = eventually(lambda: at_best(client.call(init, 4)), "the coordinator is loaded")
        assert not client.call(init, 4).error_code
        end = EndTxnRequest("tx", former.producer_id, former.producer_epoch, committed=True)
        assert client.call(end, 2).error_code == 90


def at_best(response: Any) -> Any:
    return None if response.error_code else response


def find_coordinator_of_transactions(client: RawClient) -> bool:
    return not client.call(FindCoordinatorRequest(key="tx", key_type=1), 2).error_code


def want_long_transactions(broker: Broker) -> None:
    with connect(broker) as client:
        init = InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=10**6)
        assert client.call(init, 4).error_code == 50


def log_in_wrongly(broker: Broker) -> None:
    with connect(broker) as client:
        assert not client.call(SaslHandshakeRequest("PLAIN"), 1).error_code
        assert client.call(SaslAuthenticateRequest(b"\0alice\0wrong"), 1).error_code == 58


def ask_what_is_denied(broker: Broker) -> None:
    with logged_in(broker) as client:
        wanted = [MetadataRequest.MetadataRequestTopic(name="secrets")]
        client.call(MetadataRequest(topics=wanted), 10)


def log_in_where_none_is(broker: Broker) -> None:
    with connect(broker) as client:
        assert client.call(SaslHandshakeRequest("PLAIN"), 1).error_code == 34


def versions(key: int, version: int) -> bytes:
    """The frame of an ApiVersions request of another key and version."""
    frame = bytearray(request_frame(ApiVersionsRequest(), 0))
    frame[4:8] = key.to_bytes(2, "big") + version.to_bytes(2, "big")
    return bytes(frame)


def distrust(broker: Broker) -> None:
    context = ssl.create_default_context()
    with suppress(OSError), connect(broker) as client:
        context.wrap_socket(client._socket, server_hostname="localhost")


def fetch_far(broker: Broker) -> None:
    with connect(broker) as client:
        assert fetch(client, "t", 1_000_000).error_code == 1


def join_briefly(broker: Broker) -> None:
    with connect(broker) as client:
        assert join(client, "g", session_timeout_ms=1).error_code == 26


def send_plainly_after_the_handshake(broker: Broker) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with suppress(ConnectionError), connect(broker) as client:
        raw = context.wrap_socket(client._socket)
        with socket.socket(fileno=raw.detach()) as plain:
            plain.settimeout(30)
            plain.sendall(b"\x17\x03\x03\0\x20" + bytes(32))  # a record that nobody has encrypted
            while plain.recv(1000):
                pass


def exceed_a_quota(broker: Broker) -> None:
    with connect(broker) as client:
        entity = AlterClientQuotasRequest.EntityData("client-id", client._client_id)
        change = AlterClientQuotasRequest.OpData("producer_byte_rate", 10.0)
        request = AlterClientQuotasRequest([AlterClientQuotasRequest.EntryData([entity], [change])])
        assert not client.call(request, 1).entries[0].error_code
        assert not produce(client, "t", batch(1000)).error_code


def produce_request(data: bytearray, acks: int, timeout_ms: int) -> ProduceRequest:
    """A request with one batch for the topic t."""
    row = ProduceRequest.PartitionProduceData(index=0, records=memoryview(data))
    topic = ProduceRequest.TopicProduceData(name="t", partition_data=[row])
    return ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=[topic])


def produce_zstd_too_early(broker: Broker) -> None:
    data = build_batch([Record(0, 0, None, b"v")], codec=Codec.ZSTD)
    with connect(broker) as client:
        answer = client.call(produce_request(data, acks=1, timeout_ms=5000), 3)
        assert answer.responses[0].partition_responses[0].error_code == 76


def produce_when_one_is_in_sync(pair: Cluster) -> None:
    leader = pair.brokers[pair.leader_of("safe", 0)]
    with pair.shrink_isr("safe", 0), connect(leader) as client:
        assert produce(client, "safe", batch(), acks=ACKS_ALL).error_code == 19
    pair.wait_until_in_sync()


def produce_without_the_follower(pair: Cluster) -> None:
    """Produce to a topic of two replicas while the broker that follows is cut off."""
    leader = pair.leader_of("t", 0)
    pair.isolate(1 - leader)
    with connect(pair.brokers[leader]) as client:
        answer = client.call(produce_request(batch(), acks=ACKS_ALL, timeout_ms=10), 9)
        assert answer.responses[0].partition_responses[0].error_code == 7
    pair.heal()
    pair.wait_until_in_sync()


def logged_in(broker: Broker) -> RawClient:
    """A client of a broker with logins."""
    client = connect(broker)
    assert not client.call(SaslHandshakeRequest("PLAIN"), 1).error_code
    assert not client.call(SaslAuthenticateRequest(b"\0alice\0secret"), 1).error_code
    return client


def outlive_a_session(broker: Broker) -> None:
    with logged_in(broker) as client:
        broker.advance(hours=2)
        with pytest.raises(ConnectionError):
            client.call(MetadataRequest(topics=[]), 10)


def ask_for_an_impossible_topic(broker: Broker) -> None:
    with logged_in(broker) as client:
        wanted = [MetadataRequest.MetadataRequestTopic(name="a/b")]
        client.call(MetadataRequest(topics=wanted, allow_auto_topic_creation=True), 10)


def leave_a_transaction_open(broker: Broker) -> None:
    with logged_in(broker) as client:
        assert not create_topic(client, "left")
        Transaction(broker, client, "left")
        broker.advance(minutes=2)


def lose_a_fetch_session(broker: Broker) -> None:
    def fetch_in_session(client: RawClient, session_id: int, epoch: int) -> Any:
        request = fetch_request("fetched")
        request.session_id, request.session_epoch = session_id, epoch
        return client.call(request, 11)

    with logged_in(broker) as first, logged_in(broker) as second:
        assert not create_topic(first, "fetched")
        session_id = fetch_in_session(first, 0, 0).session_id
        assert session_id
        broker.advance(minutes=3)
        assert fetch_in_session(second, 0, 0).session_id
        assert fetch_in_session(first, session_id, 1).error_code == 70
