"""Our brokers keep the same nodes in ZooKeeper as Kafka 3.9: both get the same requests, below a path of
their own in one ZooKeeper, and their nodes are compared one by one.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import threading
import time
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec
import pytest
from kazoo.client import KazooClient

from kcompat.cluster.feature_levels import SUPPORTED, supported_payload
from kcompat.config.broker import BrokerConfig
from kcompat.node.broker import BrokerNode
from kcompat.node.environment import real_environment
from kcompat.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kcompat.protocol.messages.create_partitions import CreatePartitionsRequest
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kcompat.protocol.messages.init_producer_id import InitProducerIdRequest
from kcompat.store.zookeeper.sessions import ZooKeeper as ZooKeeperStore
from kcompat.store.zookeeper.settings import Credential, ZooKeeperSettings
from support.eventually import Patience
from support.raw_client import RawClient
from support.raw_requests import create_topic, delete_topic
from znodes_shown import nodes
from zookeeper_kafka import ZooKeeper, ZooKeeperKafka

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from znodes_shown import Node

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)
PATIENCE_S = 30

SUPER, PASSWORD = "super", "of-the-test"
JAAS = """
Server { org.apache.zookeeper.server.auth.DigestLoginModule required user_kafka="secret"; };
Client { org.apache.zookeeper.server.auth.DigestLoginModule required username="kafka" password="secret"; };
"""


class SecureZooKeeper(ZooKeeper):
    """One that knows Kafka's brokers by SASL and everybody by digest, and lets the test see everything."""

    def prepare(self) -> None:
        super().prepare()
        (self.home / "jaas.conf").write_text(JAAS)
        with (self.home / "zoo.cfg").open("a") as config:
            config.write("authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider\n")

    def command(self) -> list[str]:
        secret = base64.b64encode(hashlib.sha1(f"{SUPER}:{PASSWORD}".encode()).digest()).decode()
        launcher, *rest = super().command()
        return [
            launcher,
            f"-Djava.security.auth.login.config={self.home}/jaas.conf",
            f"-Dzookeeper.DigestAuthenticationProvider.superDigest={SUPER}:{secret}",
            *rest,
        ]


class SecureKafka(ZooKeeperKafka):
    """One that owns what it makes."""

    def prepare(self) -> None:
        super().prepare()
        (self.home / "jaas.conf").write_text(JAAS)

    def command(self) -> list[str]:
        launcher, *rest = super().command()
        return [launcher, f"-Djava.security.auth.login.config={self.home}/jaas.conf", *rest]


@contextmanager
def our_broker(settings: ZooKeeperSettings, directory: Path) -> Iterator[tuple[str, int]]:
    """The address of a broker of ours, of id 1 like Kafka's."""
    config = BrokerConfig(
        {
            "broker.id": "1",
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "log.dirs": str(directory),
            "zookeeper.connect": f"{settings.servers}{settings.chroot}",
        }
    )
    started: Future[tuple[int, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        world = msgspec.structs.replace(real_environment(), open_store=lambda *_: ZooKeeperStore(settings))
        node, stopping = BrokerNode(config, world), asyncio.Event()
        try:
            await node.start()
        except BaseException as failure:
            started.set_exception(failure)
            raise
        started.set_result((node.hooks.server.listeners[0].port, asyncio.get_running_loop(), stopping))
        await stopping.wait()
        await node.stop()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="node")
    thread.start()
    port, loop, stopping = started.result(PATIENCE_S)
    try:
        yield "127.0.0.1", port
    finally:
        loop.call_soon_threadsafe(stopping.set)
        thread.join(PATIENCE_S)


def play(client: RawClient) -> None:
    """Send requests that leave nodes in ZooKeeper."""
    assignments = [CreateTopicsRequest.CreatableReplicaAssignment(index, [1]) for index in (0, 1)]
    topic = CreateTopicsRequest.CreatableTopic("assigned", -1, -1, assignments)
    assert client.call(CreateTopicsRequest(topics=[topic]), 4).topics[0].error_code == 0
    assert create_topic(client, "configured", 1, {"retention.ms": "5", "cleanup.policy": "compact"}) == 0
    assert create_topic(client, "gone", 2, {"retention.ms": "5"}) == 0
    grown = CreatePartitionsRequest.CreatePartitionsTopic("assigned", 3, None)
    assert client.call(CreatePartitionsRequest([grown], 5000), 1).results[0].error_code == 0
    for kind, name, key, operation, value in [
        (TOPIC, "configured", "segment.bytes", SET, "1000000"),
        (TOPIC, "configured", "retention.ms", DELETE, None),
        (TOPIC, "configured", "cleanup.policy", APPEND, "delete"),
        (BROKER, "1", "log.cleaner.threads", SET, "2"),
        (BROKER, "", "message.max.bytes", SET, "2000000"),
        (BROKER, "", "message.max.bytes", DELETE, None),
    ]:
        element = IncrementalAlterConfigsRequest.AlterableConfig(key, operation, value)
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(kind, name, [element])
        response = client.call(IncrementalAlterConfigsRequest([resource]), 1).responses[0]
        assert (response.error_code, response.error_message) in ((0, None), (0, ""))
        time.sleep(0.3)
    play_quotas(client)
    patience = Patience(PATIENCE_S)
    while client.call(InitProducerIdRequest(transactional_id=None), 2).error_code:
        assert patience.lasts
    assert delete_topic(client, "gone") == 0


def play_quotas(client: RawClient) -> None:
    """Set and remove quotas of each kind of entity, one request after the other."""
    for entity, key, value in [
        ({"user": "CN=a b/c"}, "producer_byte_rate", 1e6),
        ({"user": "CN=a b/c"}, "request_percentage", 12.5),
        ({"user": "CN=a b/c"}, "producer_byte_rate", None),
        ({"user": "alice", "client-id": "app"}, "consumer_byte_rate", 2.0**40),
        ({"user": None, "client-id": None}, "controller_mutation_rate", 100.0),
        ({"client-id": "app"}, "producer_byte_rate", 1e6),
        ({"client-id": "app"}, "producer_byte_rate", None),
        ({"ip": "127.0.0.9"}, "connection_creation_rate", 1000.0),
        ({"ip": None}, "connection_creation_rate", 100000.0),
    ]:
        parts = [AlterClientQuotasRequest.EntityData(kind, name) for kind, name in entity.items()]
        change = AlterClientQuotasRequest.OpData(key, value or 0.0, remove=value is None)
        request = AlterClientQuotasRequest([AlterClientQuotasRequest.EntryData(parts, [change])])
        assert [row.error_code for row in client.call(request, 1).entries] == [0]


pytestmark = pytest.mark.thorough("test_peers.py has a Kafka that reads the nodes of ours")
SECURE = pytest.mark.thorough("zookeeper_store/ has access lists of nodes")


@pytest.fixture(scope="module", params=["open", pytest.param("secure", marks=SECURE)])
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[dict[str, Node], dict[str, Node]]]:
    """The nodes of Kafka's broker, and of ours; "secure" with `zookeeper.set.acl`."""
    is_secure = request.param == "secure"
    with SecureZooKeeper() as zookeeper:
        client = KazooClient(zookeeper.bootstrap, auth_data=[("digest", f"{SUPER}:{PASSWORD}")])
        client.start()
        try:
            kind = SecureKafka if is_secure else ZooKeeperKafka
            properties = {"zookeeper.set.acl": "true"} if is_secure else {}
            with kind(zookeeper, properties=properties, chroot="/kafka") as kafka:
                with RawClient(("127.0.0.1", kafka.port)) as raw:
                    play(raw)
                patience = Patience(PATIENCE_S)
                while client.exists("/kafka/brokers/topics/gone"):
                    assert patience.lasts
                theirs = nodes(client, "/kafka", kafka.port)
            settings = ZooKeeperSettings(
                zookeeper.bootstrap,
                "/ours",
                set_acl=is_secure,
                credentials=[Credential("digest", "kafka:secret")] if is_secure else [],
            )
            with our_broker(settings, tmp_path_factory.mktemp("data")) as address:
                with RawClient(address) as raw:
                    play(raw)
                ours = nodes(client, "/ours", address[1])
            yield theirs, ours
        finally:
            client.stop()
            client.close()


def test_there_are_the_same_nodes(both: tuple[dict[str, Node], dict[str, Node]]) -> None:
    theirs, ours = both
    assert sorted(ours) == sorted(theirs)


def test_they_hold_the_same(both: tuple[dict[str, Node], dict[str, Node]]) -> None:
    """But for the features that a broker supports: Kafka with ZooKeeper has none."""
    theirs, ours = both
    registration = ours["/brokers/ids/1"]["payload"]
    assert registration["features"] == supported_payload(SUPPORTED)
    registration["features"] = {}
    for path in sorted(theirs.keys() & ours.keys()):
        assert ours[path] == theirs[path], path
