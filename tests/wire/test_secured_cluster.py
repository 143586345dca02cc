"""Brokers that log in to each other, with an authorizer that denies cluster actions to all others."""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Cluster
from kcompat.embedded import cluster as embedded_cluster
from kcompat.node.first_users import with_first_users
from kcompat.peer.client import PeerClient
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from kcompat.security.added_users import added_user
from kcompat.security.bearer.kafka_classes import LOGIN_MODULE as BEARER_MODULE
from kcompat.security.sasl.plain import LOGIN_MODULE
from kcompat.security.sasl.scram import LOGIN_MODULE as SCRAM_MODULE
from support.eventually import Patience, limit_s
from support.raw_client import RawClient
from support.raw_requests import produce
from support.sasl import plain_token

if TYPE_CHECKING:
    from collections.abc import Iterator

TIMEOUT_S = 20
TOPIC = "t"
LISTENER = "listener.name.sasl_plaintext"
SETTINGS = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "security.inter.broker.protocol": "SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512,OAUTHBEARER",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    f"{LISTENER}.plain.sasl.jaas.config": f'{LOGIN_MODULE} required username="broker" password="inside" '
    'user_broker="inside" user_admin="secret" user_alice="secret";',
    f"{LISTENER}.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required username=broker password=inside;",
    f"{LISTENER}.oauthbearer.sasl.jaas.config": f"{BEARER_MODULE} required "
    'unsecuredLoginStringClaim_sub="broker";',
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:broker;User:admin",
    "min.insync.replicas": "2",
    "zookeeper.session.timeout.ms": "3000",
}


@contextmanager
def logged_in(cluster: Cluster, broker_id: int, user: str) -> Iterator[RawClient]:
    """Yield a client of one broker, logged in as a user."""
    host, port = cluster.brokers[broker_id].bootstrap_servers.rsplit(":", 1)
    with RawClient((host, int(port)), TIMEOUT_S) as client:
        assert client.call(SaslHandshakeRequest(mechanism="PLAIN"), 1).error_code == 0
        token = plain_token(user, "secret")
        assert client.call(SaslAuthenticateRequest(auth_bytes=token), 2).error_code == 0
        yield client


def create_topic(cluster: Cluster) -> None:
    """Create a topic with a replica on every broker."""
    with logged_in(cluster, 0, "admin") as client:
        controller: int = client.call(MetadataRequest(topics=None), 9).controller_id
    topic = CreateTopicsRequest.CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=3)
    with logged_in(cluster, controller, "admin") as client:
        (row,) = client.call(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 5).topics
    assert row.error_code == 0, row
    cluster.wait_until_in_sync(limit_s(TIMEOUT_S))


def written(cluster: Cluster, text: str) -> Any:
    """Write a record to all replicas in sync, and return its offset."""
    with logged_in(cluster, cluster.leader_of(TOPIC, 0), "admin") as client:
        row = produce(client, TOPIC, build_batch([Record(0, -1, None, text.encode())]), acks=-1)
    assert row.error_code == 0
    return row.base_offset


@pytest.fixture
def scram_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each new cluster begin with the user of the brokers."""
    users = [added_user("SCRAM-SHA-512=[name=broker,password=inside]")]
    environment = embedded_cluster.real_environment
    monkeypatch.setattr(embedded_cluster, "real_environment", lambda: with_first_users(environment(), users))


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512", "OAUTHBEARER"])
@pytest.mark.usefixtures("scram_user")
def test_brokers_that_log_in_to_each_other_are_a_cluster(
    mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with Cluster(3, config={**SETTINGS, "sasl.mechanism.inter.broker.protocol": mechanism}) as cluster:
        create_topic(cluster)
        assert written(cluster, "before") == 0
        leader = cluster.leader_of(TOPIC, 0)
        cluster.brokers[leader].kill()
        cluster.wait_until_in_sync(limit_s(TIMEOUT_S))
        assert cluster.leader_of(TOPIC, 0) != leader
        assert written(cluster, "after") == 1
        cluster.brokers[leader].start()
        cluster.wait_until_in_sync(limit_s(TIMEOUT_S))
    assert "inside" not in caplog.text
    assert "refused" not in caplog.text


def test_cluster_actions_are_denied_to_all_others() -> None:
    with Cluster(3, config=SETTINGS) as cluster, logged_in(cluster, 0, "alice") as client:
        denied = client.call(AllocateProducerIdsRequest(broker_id=1, broker_epoch=0), 0).error_code
        assert denied == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_brokers_renew_their_sessions_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    renewed: Counter[str] = Counter()

    def log_in_again(client: PeerClient) -> None:
        renewed[client.name] += 1
        original(client)

    original = PeerClient._log_in_again
    monkeypatch.setattr(PeerClient, "_log_in_again", log_in_again)
    with Cluster(3, config={**SETTINGS, "connections.max.reauth.ms": "1200"}) as cluster:
        create_topic(cluster)
        offsets = count()
        patience = Patience(TIMEOUT_S)
        while len(renewed) < 3 or min(renewed.values()) < 2:
            assert patience.lasts, renewed
            assert written(cluster, "under load") == next(offsets)
        hubs = [node.server.hub for node in cluster.nodes.running.values()]
        assert [hub.closed["expired session"] for hub in hubs] == [0, 0, 0]
