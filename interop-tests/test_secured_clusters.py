"""Brokers of ours and of Kafka 3.9.2 are one cluster whose brokers reach each other by SASL_SSL, with an
authorizer on each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, Producer
from kazoo.client import KazooClient

from broker_cluster import FAILOVER_S, BrokerCluster
from kcompat.cluster.znodes import config_path, encode_config
from kcompat.security.credentials import SCRAM_SHA_512
from kcompat.security.scram_keys import credential_of_password
from support.secured_brokers import INSIDE, OWN_PASSWORD, settings_inside
from support.tls_authority import Authority
from zookeeper_kafka import ZooKeeper

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.thorough("test_secured_cluster.py has three brokers of ours")

TOPIC = "t"
KAFKA, OURS = "kafka", "kcompat"


class ZooKeeperWithUser(ZooKeeper):
    """A ZooKeeper that has the brokers' own user before the first of them starts."""

    def start(self, timeout_s: float = 120) -> None:
        super().start(timeout_s)
        credential = credential_of_password(SCRAM_SHA_512, OWN_PASSWORD, 4096).format()
        client = KazooClient(self.bootstrap)
        client.start()
        data = encode_config({SCRAM_SHA_512.name: credential})
        client.create(config_path("users", "broker"), data, makepath=True)
        client.stop()
        client.close()


@pytest.mark.timeout(480)
@pytest.mark.parametrize(
    ("kinds", "mechanism"),
    [
        ((OURS, KAFKA, KAFKA), "PLAIN"),
        ((KAFKA, OURS, OURS), "PLAIN"),
        ((KAFKA, OURS, OURS), "SCRAM-SHA-512"),
    ],
    ids=lambda each: "-".join(each) if isinstance(each, tuple) else each,
)
def test_both_kinds_reach_each_other_by_sasl_and_tls(
    kinds: tuple[str, ...], mechanism: str, tmp_path: Path
) -> None:
    """Each broker leads and follows, the first controller is of one kind and the next one of the other, and
    a leader is killed.
    """
    settings = settings_inside(Authority(), tmp_path, mechanism)
    with BrokerCluster(kinds, settings, listeners=INSIDE, ensemble=ZooKeeperWithUser()) as cluster:
        placed = ((1, 2, 3), (2, 3, 1), (3, 1, 2))
        cluster.create_topic(TOPIC, 3, placed=placed)
        write(cluster, range(30))
        cluster.depose_controller()
        cluster.reassign(TOPIC, 0, (2, 1, 3))
        cluster.reassign(TOPIC, 0, (1, 2, 3))
        cluster.brokers[1].kill()
        cluster.wait(
            lambda shown: all(
                part.leader_id not in (1, -1) for row in shown.topics for part in row.partitions
            ),
            FAILOVER_S,
        )
        write(cluster, range(30, 60))
        cluster.restart(1)
        cluster.wait_until_in_sync(FAILOVER_S)
        assert sorted(read(cluster, 60)) == sorted(range(60))


def write(cluster: BrokerCluster, numbers: range) -> None:
    """Write these numbers to all partitions, each to two brokers at least."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    failed: list[object] = []

    def delivered(error: object, _message: object) -> None:
        if error is not None:
            failed.append(error)

    for number in numbers:
        producer.produce(TOPIC, str(number), partition=number % 3, on_delivery=delivered)
    assert producer.flush(60) == 0
    assert failed == []


def read(cluster: BrokerCluster, count: int) -> list[int]:
    """Read that many numbers as a member of a group."""
    consumer = Consumer(
        {"bootstrap.servers": cluster.bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([TOPIC])
    found: list[int] = []
    try:
        while len(found) < count:
            message = consumer.poll(60)
            assert message is not None, f"only {len(found)} records came"
            if message.error() is None:
                found.append(int(message.value()))
    finally:
        consumer.close()
    return found
