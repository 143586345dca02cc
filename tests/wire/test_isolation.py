"""`Cluster.isolate`: what the others go on with, and what waits until it is healed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from kcompat import Cluster
from kcompat.errors import StartError
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from support.eventually import eventually, limit_s
from support.raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import Iterator

SETTINGS = {"zookeeper.session.timeout.ms": 1000, "auto.leader.rebalance.enable": False}
TIMEOUT_S = 20
TOPIC = "t"


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(3, config=SETTINGS) as started:
        yield started


def controller(cluster: Cluster) -> int:
    """The broker that holds the office."""
    running = cluster.nodes.running.items()
    return cluster.thread.do(
        lambda: next(i for i, node in running if node.parts.cluster.controller_election.is_here)
    )


def first_controller(cluster: Cluster) -> int:
    """The broker that holds the office, made the one that runs longest: no order helps to find another."""
    holder = controller(cluster)
    for broker in cluster.brokers:
        if broker.id != holder:
            broker.stop()
            broker.start()
    return holder


def create(cluster: Cluster, leader: int) -> None:
    """A topic with a replica on each broker, led by this one."""
    replicas = [leader, *(each.id for each in cluster.brokers if each.id != leader)]
    assignment = CreateTopicsRequest.CreatableReplicaAssignment(0, replicas)
    topic = CreateTopicsRequest.CreatableTopic(
        name=TOPIC, num_partitions=-1, replication_factor=-1, assignments=[assignment]
    )
    host, port = cluster.brokers[controller(cluster)].bootstrap_servers.rsplit(":", 1)
    with RawClient((host, int(port)), TIMEOUT_S) as asking:
        (row,) = asking.call(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 5).topics
    assert row.error_code == 0, row
    cluster.wait_until_in_sync(limit_s(TIMEOUT_S))


def other_leader(cluster: Cluster, former: int) -> int:
    """The leader that takes the place of another, as the cluster names it."""
    eventually(lambda: cluster.leader_of(TOPIC, 0) not in (former, -1), "another broker leads", TIMEOUT_S)
    return cluster.leader_of(TOPIC, 0)


def test_the_leader_is_named_when_the_controller_is_cut_off(cluster: Cluster) -> None:
    former = first_controller(cluster)
    create(cluster, leader=former)
    cluster.isolate(former)
    second = other_leader(cluster, former)
    cluster.heal()
    assert cluster.leader_of(TOPIC, 0) == second  # also before the former controller hears of it
    cluster.wait_until_in_sync(limit_s(TIMEOUT_S))
    assert cluster.leader_of(TOPIC, 0) == second


def test_a_broker_starts_while_another_is_cut_off(cluster: Cluster) -> None:
    former = controller(cluster)
    create(cluster, leader=former)
    restarted, third = ((former + 1) % 3, (former + 2) % 3)
    cluster.isolate(former)
    other_leader(cluster, former)
    cluster.brokers[restarted].kill()
    cluster.thread.call(asyncio.wait_for(cluster.nodes.start(restarted), limit_s(TIMEOUT_S)))
    shown = cluster.nodes.running[restarted].parts.storage.metadata.image
    assert sorted(shown.brokers) == sorted([restarted, third])
    with pytest.raises(TimeoutError, match=f"{TOPIC}-0"):
        cluster.wait_until_in_sync(0.1)  # the one that is cut off runs, and is behind
    cluster.heal()
    cluster.wait_until_in_sync(limit_s(TIMEOUT_S))


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_a_broker_that_is_cut_off_starts_again_when_it_is_healed(cluster: Cluster, end: str) -> None:
    broker = cluster.brokers[0]
    create(cluster, leader=0)
    cluster.isolate(0)
    getattr(broker, end)()
    with pytest.raises(StartError, match=r"^broker 0 is isolated: .*heal"):
        broker.start()
    assert not broker.is_running
    cluster.heal()
    broker.start()
    cluster.wait_until_in_sync(limit_s(TIMEOUT_S))
