"""The two brokers that the personas ask: a real Kafka and ours, with the same ACLs made by CreateAcls."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from admission.personas import PERSONAS, rules
from admission.stage import Asker, share
from differential.catalogue import needs_zookeeper, release_of
from kcompat.config.broker import BrokerConfig
from kcompat.node.broker import BrokerNode
from kcompat.node.environment import real_environment
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode
from real_kafka import RealKafka
from zookeeper_kafka import ZooKeeper, ZooKeeperKafka

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROPERTIES = {
    "group.min.session.timeout.ms": "50",
    "log.retention.ms": "-1",
    "auto.create.topics.enable": "true",
    "group.initial.rebalance.delay.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.assignment.interval.ms": "0",
}
"""Set on both, as in the differential test."""
UNRULED = {"allow.everyone.if.no.acl.found": "true"}
"""Everyone may do everything while there are no rules, so that they can be made."""
AUTHORIZER = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer", **UNRULED}
AUTHORIZER_WITH_ZOOKEEPER = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer", **UNRULED}


class Reference(NamedTuple):
    """A kind of Kafka."""

    release: str
    has_zookeeper: bool


REFERENCES = (Reference("3.9.2", False), Reference("3.9.2", True), Reference("4.3.0", False))


def reference_of(key: ApiKey, version: int) -> Reference:
    """The one that is asked what a denial changes."""
    return Reference(release_of(key, version), needs_zookeeper(key, version))


@contextmanager
def _without_rules(reference: Reference) -> Iterator[RealKafka]:
    if reference.has_zookeeper:
        with ZooKeeper() as zookeeper:
            kafka = ZooKeeperKafka(zookeeper, properties=PROPERTIES | AUTHORIZER_WITH_ZOOKEEPER)
            with kafka as broker:
                yield broker
    else:
        with RealKafka(reference.release, PROPERTIES | AUTHORIZER) as broker:
            yield broker


@contextmanager
def kafka(reference: Reference) -> Iterator[int]:
    """The port of a Kafka of this kind in which all rules are in force."""
    with _without_rules(reference) as broker:
        last = Asker(broker.port, "rules", PERSONAS[-1].host)
        _prepare(
            broker.port,
            lambda: last.until(
                lambda: _is_denied_by_controller(last) and _is_denied_by_broker(last), "rules are in force"
            ),
        )
        last.close()
        yield broker.port


def _prepare(port: int, in_force: Callable[[], object]) -> None:
    """Make the ACLs, await them, and make what the scenes have in common."""
    maker = Asker(port, "rules")
    made = maker.do(ApiKey.CREATE_ACLS, 3, creations=rules())
    assert {row.error_code for row in made.results} == {0}, made
    in_force()
    share(maker)
    maker.close()


def _is_denied_by_controller(asker: Asker) -> bool:
    topic = {"name": "denied", "num_partitions": 1, "replication_factor": 1}
    fields = {"topics": [topic], "timeout_ms": 1000, "validate_only": True}
    answer = asker.do(ApiKey.CREATE_TOPICS, 4, on="main", **fields)
    return bool(answer.topics[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def _is_denied_by_broker(asker: Asker) -> bool:
    topic = {"name": "denied", "partitions": [{"partition_index": 0, "timestamp": -1}]}
    answer = asker.do(ApiKey.LIST_OFFSETS, 5, on="main", topics=[topic])
    return bool(answer.topics[0].partitions[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED)


@contextmanager
def ours() -> Iterator[int]:
    """The port of a broker of ours in this process, in which all rules are in force."""
    with tempfile.TemporaryDirectory() as home:
        place = {"broker.id": "1", "listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": home}
        config = place | PROPERTIES | AUTHORIZER
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        try:
            node = asyncio.run_coroutine_threadsafe(_start(BrokerConfig(config)), loop).result(30)
            port = int(node.bootstrap_servers.rpartition(":")[2])
            _prepare(port, lambda: None)  # ACLs are in force once they are answered
            yield port
            asyncio.run_coroutine_threadsafe(node.stop(), loop).result(30)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


async def _start(config: BrokerConfig) -> BrokerNode:
    node = BrokerNode(config, real_environment())
    await node.start()
    return node
