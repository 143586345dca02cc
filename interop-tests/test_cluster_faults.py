"""Brokers in processes of their own over a real ZooKeeper, under load, with kill -9 and SIGSTOP.

Nothing that was acknowledged is lost, doubled, reordered or shown too early, and replicas are alike to the
byte.

`KCOMPAT_FAULTS=100` plays each fault so often; without it a few times.
"""

from __future__ import annotations

import os
import statistics
import time
from typing import TYPE_CHECKING

import pytest

from broker_cluster import BrokerCluster
from cluster_load import Load
from hosts import Hosts
from support.history import violations

if TYPE_CHECKING:
    from collections.abc import Iterator

TOPIC, PARTITIONS = "t", 6
TIMES = int(os.environ.get("KCOMPAT_FAULTS", "3"))
TIMEOUT_S = 120
pytestmark = pytest.mark.timeout(600 + 60 * TIMES)
CUT_S = 3
ANSWERS_UNDER_WAY_S = 0.05
"""An answer that was sent before the fault may still be on its way to the client for so long."""


@pytest.fixture
def cluster() -> Iterator[BrokerCluster]:
    with BrokerCluster() as started:
        started.create_topic(TOPIC, PARTITIONS)
        yield started


def wait_for_all(load: Load) -> None:
    """Until a record of each partition is acknowledged that is sent from now on."""
    now = time.monotonic()
    for partition in range(PARTITIONS):
        load.wait_for_acknowledgement(partition, now, TIMEOUT_S)


def judge(cluster: BrokerCluster, load: Load) -> None:
    """Heal is over: read everything, and compare what every replica has."""
    load.stop()
    cluster.wait_until_in_sync(TIMEOUT_S)
    load.read_to_the_end()
    assert len(load.history.sent) > 100
    assert violations(load.history) == []
    for broker in cluster.brokers.values():
        broker.stop()
    for partition in range(PARTITIONS):
        replicas = {cluster.stored(broker_id, TOPIC, partition) for broker_id in cluster.brokers}
        assert len(replicas) == 1, f"replicas of partition {partition} differ"


def test_leaders_that_are_killed(cluster: BrokerCluster) -> None:
    outages = []
    with Load(cluster.bootstrap, TOPIC, PARTITIONS) as load:
        wait_for_all(load)
        for number in range(TIMES):
            partition = number % PARTITIONS
            leader = cluster.leader_of(TOPIC, partition)
            killed_at = time.monotonic()
            cluster.brokers[leader].kill()
            acknowledged_at = load.wait_for_acknowledgement(
                partition, killed_at + ANSWERS_UNDER_WAY_S, TIMEOUT_S
            )
            outages.append(acknowledged_at - killed_at)
            cluster.brokers[leader].start()
            cluster.wait_until_in_sync(TIMEOUT_S)
        judge(cluster, load)
    print(f"from the kill to the first acknowledgement: median {statistics.median(outages):.2f} s, {outages}")


def test_leaders_that_hang(cluster: BrokerCluster) -> None:
    with Load(cluster.bootstrap, TOPIC, PARTITIONS) as load:
        wait_for_all(load)
        for number in range(max(1, TIMES // 3)):
            partition = number % PARTITIONS
            leader = cluster.leader_of(TOPIC, partition)
            frozen_at = time.monotonic()
            cluster.freeze(leader)
            load.wait_for_acknowledgement(partition, frozen_at + ANSWERS_UNDER_WAY_S, TIMEOUT_S)
            cluster.thaw(leader)
            cluster.wait_until_in_sync(TIMEOUT_S)
        judge(cluster, load)


def test_all_brokers_killed_at_once(cluster: BrokerCluster) -> None:
    with Load(cluster.bootstrap, TOPIC, PARTITIONS) as load:
        for _ in range(max(1, TIMES // 3)):
            wait_for_all(load)
            for broker in cluster.brokers.values():
                broker.kill()
            for broker in cluster.brokers.values():
                broker.start()
            cluster.wait_until_in_sync(TIMEOUT_S)
        wait_for_all(load)
        judge(cluster, load)


def test_a_zookeeper_that_is_killed_and_comes_back(cluster: BrokerCluster) -> None:
    with Load(cluster.bootstrap, TOPIC, PARTITIONS) as load:
        wait_for_all(load)
        cluster.zookeeper.kill()
        wait_for_all(load)  # who leads goes on
        cluster.zookeeper.start()
        leader = cluster.leader_of(TOPIC, 0)
        cluster.brokers[leader].kill()
        load.wait_for_acknowledgement(0, time.monotonic() + ANSWERS_UNDER_WAY_S, TIMEOUT_S)
        cluster.brokers[leader].start()
        judge(cluster, load)


def test_leaders_that_are_cut_off() -> None:
    """From everybody, so that others lead; or from their peers alone, and then nobody can acknowledge."""
    with Hosts(3) as network, BrokerCluster(hosts=network) as cluster:
        cluster.create_topic(TOPIC, PARTITIONS)
        with Load(cluster.bootstrap, TOPIC, PARTITIONS) as load:
            wait_for_all(load)
            for number in range(max(2, TIMES // 3)):
                partition = number % PARTITIONS
                leader = cluster.leader_of(TOPIC, partition)
                host = network.hosts[leader - 1]
                cut_at = time.monotonic()
                if number % 2:
                    network.cut(host)
                    load.wait_for_acknowledgement(partition, cut_at + ANSWERS_UNDER_WAY_S, TIMEOUT_S)
                else:
                    network.cut(host, *(other for other in network.hosts if other is not host))
                    time.sleep(CUT_S)
                network.heal()
                cluster.wait_until_in_sync(TIMEOUT_S)
            judge(cluster, load)


def test_a_rolling_restart(cluster: BrokerCluster) -> None:
    with Load(cluster.bootstrap, TOPIC, PARTITIONS) as load:
        wait_for_all(load)
        for broker in cluster.brokers.values():
            broker.stop()
            wait_for_all(load)
            broker.start()
            cluster.wait_until_in_sync(TIMEOUT_S)
        judge(cluster, load)
    assert all(sent.outcome.value == "acknowledged" for sent in load.history.sent)
