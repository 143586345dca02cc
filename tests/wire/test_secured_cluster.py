"""Brokers that are sure of each other by TLS and SASL; an authorizer denies cluster actions to all others."""

from __future__ import annotations

import logging
import ssl
import time
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Cluster
from kcompat.errors import ConfigError
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from kcompat.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from kcompat.security.credentials import SCRAM_SHA_512
from kcompat.security.scram_keys import salted_password
from support.eventually import Patience, limit_s
from support.raw_client import RawClient
from support.raw_requests import produce
from support.secured_brokers import OWN_PASSWORD, logged_in, sasl_settings, tls_settings
from support.tls_authority import HOSTS, Authority, as_pem

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TIMEOUT_S = 20
TOPIC = "t"
AUTHORIZED = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}


class Secured:
    """A cluster with a listener of one protocol, and its clients."""

    def __init__(
        self, protocol: str, data_dir: Path | None = None, authority: Authority | None = None, **changes: str
    ) -> None:
        self.authority = authority or Authority()
        settings = {
            "listeners": f"{protocol}://127.0.0.1:0",
            "security.inter.broker.protocol": protocol,
            "min.insync.replicas": "2",
            "zookeeper.session.timeout.ms": "3000",
        }
        if "SASL" in protocol:
            settings |= {**sasl_settings(protocol), **AUTHORIZED}
        self._tls: ssl.SSLContext | None = None
        if "SSL" in protocol:
            settings |= tls_settings(self.authority, protocol)
            self._tls = self.authority.client_context(self.authority.client())
        self._protocol = protocol
        self.cluster = Cluster(3, data_dir=data_dir, config={**settings, **changes})

    def client(self, broker_id: int, user: str = "admin") -> RawClient:
        """Return a client of one broker."""
        host, port = self.cluster.brokers[broker_id].bootstrap_servers.rsplit(":", 1)
        address = host, int(port)
        if "SASL" in self._protocol:
            return logged_in(address, user, self._tls)
        return RawClient(address, TIMEOUT_S, tls=self._tls)

    def certificate(self) -> bytes | None:
        """Return the certificate that the first broker shows to a new connection."""
        with self.client(0) as client:
            connection = client._socket
            assert isinstance(connection, ssl.SSLSocket)
            return connection.getpeercert(binary_form=True)

    def create_topic(self) -> None:
        """Create a topic with a replica on every broker."""
        with self.client(0) as client:
            controller: int = client.call(MetadataRequest(topics=None), 9).controller_id
        topic = CreateTopicsRequest.CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=3)
        with self.client(controller) as client:
            (row,) = client.call(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 5).topics
        assert row.error_code == 0, row
        self.cluster.wait_until_in_sync(limit_s(TIMEOUT_S))

    def write(self) -> Any:
        """Write a record to all replicas in sync, and return its offset."""
        with self.client(self.cluster.leader_of(TOPIC, 0)) as client:
            row = produce(client, TOPIC, build_batch([Record(0, -1, None, b"record")]), acks=-1)
        assert row.error_code == 0
        return row.base_offset

    def lose_and_return_the_leader(self) -> None:
        """Kill the leader of the topic, write to the next one, and start it again."""
        leader = self.cluster.leader_of(TOPIC, 0)
        self.cluster.brokers[leader].kill()
        self.cluster.wait_until_in_sync(limit_s(TIMEOUT_S))
        assert self.cluster.leader_of(TOPIC, 0) != leader
        assert self.write() == 1
        self.cluster.brokers[leader].start()
        self.cluster.wait_until_in_sync(limit_s(TIMEOUT_S))


@pytest.mark.parametrize(
    ("protocol", "mechanism"),
    [
        ("SSL", ""),
        ("SASL_SSL", "PLAIN"),
        ("SASL_PLAINTEXT", "OAUTHBEARER"),
    ],
)
def test_brokers_that_are_sure_of_each_other_are_a_cluster(
    protocol: str, mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    changes = {"sasl.mechanism.inter.broker.protocol": mechanism} if mechanism else {}
    secured = Secured(protocol, **changes)
    with secured.cluster:
        secured.create_topic()
        assert secured.write() == 0
        secured.lose_and_return_the_leader()
    assert OWN_PASSWORD not in caplog.text
    assert "refused" not in caplog.text


def test_cluster_actions_are_denied_to_all_others() -> None:
    secured = Secured("SASL_PLAINTEXT")
    with secured.cluster, secured.client(0, "alice") as client:
        denied = client.call(AllocateProducerIdsRequest(broker_id=1, broker_epoch=0), 0).error_code
        assert denied == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_brokers_of_a_cluster_change_to_scram_once_their_user_exists(tmp_path: Path) -> None:
    first = Secured("SASL_SSL", data_dir=tmp_path)
    with first.cluster:
        first.create_topic()
        assert first.write() == 0
        mechanism = SCRAM_SHA_512
        salted = salted_password(mechanism, OWN_PASSWORD, b"salt", 4096)
        user = AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
            "broker", mechanism.type, 4096, b"salt", salted
        )
        with first.client(0) as client:
            controller = client.call(MetadataRequest(topics=None), 9).controller_id
        with first.client(controller) as client:
            (row,) = client.call(AlterUserScramCredentialsRequest(upsertions=[user]), 0).results
        assert row.error_code == 0
    changed = {"sasl.mechanism.inter.broker.protocol": mechanism.name}
    second = Secured("SASL_SSL", data_dir=tmp_path, authority=first.authority, **changed)
    with second.cluster:
        second.cluster.wait_until_in_sync(limit_s(TIMEOUT_S))
        second.lose_and_return_the_leader()


def test_brokers_renew_their_sessions_in_time() -> None:
    session_s = 1.2
    secured = Secured("SASL_SSL", **{"connections.max.reauth.ms": f"{1000 * session_s:.0f}"})
    with secured.cluster as cluster:
        secured.create_topic()
        offsets = count()
        until = time.monotonic() + 3 * session_s
        while time.monotonic() < until:
            assert secured.write() == next(offsets)
        hubs = [node.hooks.server.hub for node in cluster.nodes.running.values()]
        assert [hub.closed["expired session"] for hub in hubs] == [0, 0, 0]


def test_certificates_are_renewed_under_load_without_a_failed_request(tmp_path: Path) -> None:
    """The brokers' listeners and their connections to each other take the new certificate."""
    authority, key = Authority(), tmp_path / "broker.pem"
    key.write_bytes(as_pem(authority.broker))
    stores = {
        "ssl.keystore.key": "",
        "ssl.keystore.certificate.chain": "",
        "ssl.keystore.location": str(key),
        "ssl.allow.dn.changes": "true",
    }
    secured = Secured("SASL_SSL", authority=authority, **stores)
    with secured.cluster as cluster:
        secured.create_topic()
        offsets = count()
        old = secured.certificate()
        key.write_bytes(as_pem(authority.ca.issue_cert(*HOSTS)))
        patience = Patience(TIMEOUT_S)
        while secured.certificate() == old:
            assert patience.lasts
            assert secured.write() == next(offsets)
        follower = next(each for each in cluster.brokers if each.id != cluster.leader_of(TOPIC, 0))
        follower.kill()
        assert secured.write() == next(offsets)
        follower.start()
        cluster.wait_until_in_sync(limit_s(TIMEOUT_S))
        assert secured.write() == next(offsets)


def test_the_hosts_of_certificates_are_checked_unless_told_otherwise() -> None:
    """The brokers are at 127.0.0.2, and their certificate is of 127.0.0.1."""
    elsewhere = {"listeners": "SSL://127.0.0.2:0", "ssl.endpoint.identification.algorithm": ""}
    secured = Secured("SSL", **elsewhere)
    with secured.cluster:
        pass


@pytest.mark.parametrize(
    ("protocol", "changes", "sentence"),
    [
        ("SASL_SSL", {"ssl.truststore.certificates": "x"}, "trust"),
        ("SASL_SSL", {"sasl.mechanism.inter.broker.protocol": "GSSAPI"}, "set it to one of PLAIN"),
    ],
)
def test_brokers_that_could_not_reach_each_other_do_not_start(
    protocol: str, changes: Mapping[str, str], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        Secured(protocol, **changes).cluster.start()
