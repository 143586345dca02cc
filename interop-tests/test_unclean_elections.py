"""Everybody in the ISR is dead, and a replica that lacks what was acknowledged leads where it may: by the
topic's `unclean.leader.election.enable`, or asked for with kafka-leader-election. The others give up
what it has not.

``pytest --target=kafka`` plays the same with three real Kafkas.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from broker_cluster import BrokerCluster
from commands import run
from kcompat.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.kafka_jars import jvm
from support.raw_requests import describe_topic, produce, read_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.raw_client import RawClient

FIRST, SECOND, BEHIND = 1, 2, 3
ALL = -1
ALLOWED, CHANGED, ASKED, KEPT = "allowed", "changed", "asked", "kept"
NEW = {ALLOWED: 1, CHANGED: 3, ASKED: 5}
"""How many batches the new leader of each takes: fewer than are lost with its election, as many, and more."""
COUNT = 3
SETTINGS = {
    "min.insync.replicas": "1",
    "replica.lag.time.max.ms": "1000",
    "auto.leader.rebalance.enable": "false",
}


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Iterator[BrokerCluster]:
    kind: str = request.config.getoption("--target")
    with BrokerCluster((kind,) * 3, SETTINGS) as running:
        yield running
        for broker in running.brokers.values():
            assert "Traceback" not in broker.log_tail(1_000_000), broker.log_tail(8000)


def write(client: RawClient, topic: str, word: str, count: int = COUNT) -> list[bytes]:
    """So many values in a batch each, on every replica in sync."""
    values = [b"%s %d" % (word.encode(), number) for number in range(count)]
    for value in values:
        batch = build_batch([Record(0, int(time.time() * 1000), None, value)])
        assert produce(client, topic, batch, acks=ALL).error_code == 0
    return values


def allow(client: RawClient, topic: str) -> None:
    """Let a replica that is not in sync lead this topic from now on."""
    kind = IncrementalAlterConfigsRequest
    config = kind.AlterableConfig("unclean.leader.election.enable", 0, "true")
    answer = client.call(kind([kind.AlterConfigsResource(2, topic, [config])]), 1)
    assert answer.responses[0].error_code == 0, answer


def elect_with_the_tool(cluster: BrokerCluster, topic: str) -> str:
    command = [*jvm("3.9.2"), "org.apache.kafka.tools.LeaderElectionCommand"]
    command += ["--bootstrap-server", cluster.brokers[BEHIND].bootstrap, "--election-type", "unclean"]
    return run([*command, "--topic", topic, "--partition", "0"])


def test_who_lacks_records_leads_where_that_is_wanted_and_the_others_are_cut(cluster: BrokerCluster) -> None:
    expected: dict[str, list[bytes]] = {}
    for topic in (ALLOWED, CHANGED, ASKED, KEPT):
        cluster.create_topic(topic, 1, placed=[[FIRST, SECOND, BEHIND]])
    with cluster.client(FIRST) as client:
        allow(client, ALLOWED)
        for topic in (ALLOWED, CHANGED, ASKED, KEPT):
            expected[topic] = write(client, topic, "early")
        cluster.brokers[BEHIND].kill()
        lost = {topic: write(client, topic, "late") for topic in expected}
        expected[KEPT] += lost[KEPT]
        for topic in expected:
            assert set(describe_topic(client, topic).partitions[0].isr_nodes) == {FIRST, SECOND}
    for broker_id in (FIRST, SECOND):
        cluster.brokers[broker_id].kill()

    cluster.restart(BEHIND)
    led = {ALLOWED: BEHIND, CHANGED: ALL, ASKED: ALL, KEPT: ALL}
    cluster.wait(lambda shown: leaders(shown) == led)
    with cluster.client(BEHIND) as client:
        allow(client, CHANGED)
        said = elect_with_the_tool(cluster, ASKED)
        assert said == f"Successfully completed leader election (UNCLEAN) for partitions {ASKED}-0\n"
        led |= {CHANGED: BEHIND, ASKED: BEHIND}
        cluster.wait(lambda shown: leaders(shown) == led)
        for topic, count in NEW.items():
            assert describe_topic(client, topic).partitions[0].isr_nodes == [BEHIND]
            assert [record.value for record in read_all(client, topic)] == expected[topic]
            expected[topic] += write(client, topic, "new", count)

    for broker_id in (FIRST, SECOND):
        cluster.restart(broker_id)
    cluster.wait_until_in_sync()
    for topic, values in expected.items():
        leader = cluster.leader_of(topic, 0)
        assert leader == BEHIND if topic in NEW else leader in (FIRST, SECOND)
        with cluster.client(leader) as client:
            assert [record.value for record in read_all(client, topic)] == values
    for broker in cluster.brokers.values():
        broker.stop()
    for topic in expected:
        logs = cluster.contents(topic, 0)
        assert len(logs) == len(cluster.brokers)
        assert len(set(logs.values())) == 1


def leaders(shown: Any) -> dict[str, int]:
    """Return the leader of each topic."""
    return {row.name: row.partitions[0].leader_id for row in shown.topics}
