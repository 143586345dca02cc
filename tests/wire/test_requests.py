"""The requests of clients as embedded brokers tell them."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING

import pytest

from kcompat import Broker, Cluster
from kcompat.errors import UsageError
from kcompat.protocol.messages.join_group import JoinGroupRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.eventually import eventually
from support.raw_client import RawClient
from support.raw_requests import create_topic, fetch, find_coordinator, produce
from support.sasl import plain_token

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCH = bytes(build_batch([Record(0, 1000, b"k", b"v")]))


def address(servers: str) -> tuple[str, int]:
    host, _, port = servers.split(",")[0].rpartition(":")
    return host, int(port)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(record_requests=True) as broker:
        yield broker


def test_requests_are_told_in_order_with_their_outcome(broker: Broker) -> None:
    with RawClient(address(broker.bootstrap_servers), client_id="orders-app") as client:
        create_topic(client, "orders")
        create_topic(client, "orders")
        produce(client, "orders", BATCH)
        produce(client, "orders", BATCH, partition=7)
        fetch(client, "orders", 0)
    told = broker.requests(client_id="orders-app")
    assert [each.api for each in told] == ["CreateTopics", "CreateTopics", "Produce", "Produce", "Fetch"]
    assert [each.outcome for each in told] == [
        "ok",
        "orders TOPIC_ALREADY_EXISTS",
        "ok",
        "orders-7 UNKNOWN_TOPIC_OR_PARTITION",
        "ok",
    ]
    assert all(each.topics == ["orders"] for each in told)
    assert [each.api for each in broker.requests(topic="orders", api="fetch")] == ["Fetch"]
    refused = broker.requests(topic="orders", errors_only=True)
    assert [repr(each) for each in refused] == [repr(told[1]), repr(told[3])]
    request = told[2].request
    assert request is not None
    assert request["topic_data"][0]["partition_data"][0]["records"][0]["records"][0]["value"] == b"v"


def test_topics_that_a_request_names_by_id_are_told_by_name(broker: Broker) -> None:
    with RawClient(address(broker.bootstrap_servers), client_id="by-id") as client:
        create_topic(client, "named")
        found = client.call(
            MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="named")]), 12
        ).topics[0]
        by_id = MetadataRequest.MetadataRequestTopic(topic_id=bytes(found.topic_id), name=None)
        client.call(MetadataRequest(topics=[by_id]), 12)
    assert broker.requests(client_id="by-id")[-1].topics == ["named"]


def test_a_time_leaves_out_what_was_before(broker: Broker) -> None:
    with RawClient(address(broker.bootstrap_servers), client_id="timed") as client:
        client.call(MetadataRequest(), 12)
        middle = time.time()
        client.call(MetadataRequest(), 9)
    assert [each.version for each in broker.requests("timed", since=middle)] == [9]


def test_a_member_that_waits_for_others_is_told(broker: Broker) -> None:
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range")
    request = JoinGroupRequest(
        group_id="waits", session_timeout_ms=60_000, rebalance_timeout_ms=60_000, protocol_type="consumer",
        protocols=[protocol],
    )  # fmt: skip
    servers = address(broker.bootstrap_servers)
    with RawClient(servers, client_id="first") as first, RawClient(servers, client_id="second") as second:
        eventually(lambda: find_coordinator(first, "waits") == 0, "there is a coordinator")
        eventually(lambda: first.call(request, 1).error_code == 0, "the first member is in the group")
        second.send(request, 1)
        eventually(lambda: bool(broker.requests("second")), "the second request has come")
        (waiting,) = broker.requests("second")
        assert (waiting.group, waiting.outcome, waiting.duration_ms) == ("waits", "waiting", None)


def test_another_protocol_is_told_as_an_event(broker: Broker) -> None:
    with socket.create_connection(address(broker.bootstrap_servers)) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
        sock.recv(1)
        peer = f"127.0.0.1:{sock.getsockname()[1]}"
    events = [each for each in broker.connection_events() if each.peer == peer]
    assert [(each.what, each.text) for each in events] == [("opened", ""), ("closed", "bad frame length")]
    complaints = [each.text for each in broker.connection_events() if each.what == "complaint"]
    assert any("connection closed" in text for text in complaints)


def test_a_refused_login_is_told_without_its_password() -> None:
    with (
        Broker(users={"alice": "secret"}, record_requests=True) as broker,
        RawClient(address(broker.bootstrap_servers)) as client,
    ):
        client.call(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        client.call(SaslAuthenticateRequest(auth_bytes=plain_token("alice", "s3cret")), 2)
        eventually(lambda: broker.connection_events()[-1].what == "closed", "the connection has ended")
        told = broker.requests()
        assert told[-1].outcome == "SASL_AUTHENTICATION_FAILED"
        assert told[-1].errors[0].message
        assert "s3cret" not in repr([(each.request, each.response) for each in told])
        assert broker.connection_events()[-1].text == "refused login"


def test_what_was_recorded_stays_after_the_stop() -> None:
    broker = Broker(record_requests=True)
    with broker, RawClient(address(broker.bootstrap_servers), client_id="last") as client:
        client.call(MetadataRequest(), 12)
    assert [each.api for each in broker.requests("last")] == ["Metadata"]


def test_misuse_is_told_in_a_sentence(broker: Broker) -> None:
    with pytest.raises(UsageError, match="'Produces' is not the name of an API"):
        broker.requests(api="Produces")
    with Broker() as silent, pytest.raises(UsageError, match="record_requests=True"):
        silent.requests()


def test_a_cluster_says_which_broker_was_asked_also_after_a_restart() -> None:
    with Cluster(2, record_requests=True) as cluster:
        for broker in cluster.brokers:
            with RawClient(address(broker.bootstrap_servers), client_id=f"to-{broker.id}") as client:
                client.call(MetadataRequest(), 12)
        assert [cluster.requests(f"to-{number}")[0].broker_id for number in (0, 1)] == [0, 1]
        cluster.brokers[1].stop()
        cluster.brokers[1].start()
        with RawClient(address(cluster.brokers[1].bootstrap_servers), client_id="again") as client:
            client.call(MetadataRequest(), 12)
        assert [cluster.requests(name)[0].broker_id for name in ("to-1", "again")] == [1, 1]


def test_a_reset_ends_connections_and_each_request_is_recorded_once_afterwards() -> None:
    with Broker(record_requests=True) as broker:
        with RawClient(address(broker.bootstrap_servers), client_id="before") as client:
            create_topic(client, "gone")
            broker.reset()
        with RawClient(address(broker.bootstrap_servers), client_id="after") as client:
            create_topic(client, "here")
            named = MetadataRequest.MetadataRequestTopic(name="here")
            topic_id = bytes(client.call(MetadataRequest(topics=[named]), 12).topics[0].topic_id)
            by_id = MetadataRequest.MetadataRequestTopic(topic_id=topic_id, name=None)
            client.call(MetadataRequest(topics=[by_id]), 12)
        assert [each.api for each in broker.requests("before")] == ["CreateTopics"]
        told = broker.requests("after")
        assert [(each.api, each.topics) for each in told] == [
            ("CreateTopics", ["here"]), ("Metadata", ["here"]), ("Metadata", ["here"]),
        ]  # fmt: skip
        ends = [each.text for each in broker.connection_events() if each.what == "closed"]
        assert "stopped" in ends
