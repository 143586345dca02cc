"""Leaders that are lost and followers that fall behind, in an embedded cluster."""

from __future__ import annotations

import time
from random import random
from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Cluster
from kcompat.errors import UsageError
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.eventually import eventually
from support.raw_client import RawClient
from support.raw_requests import create_topic, describe_topic, produce

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCH = build_batch([Record(0, 1, None, b"value")])
MAX_LAG_S = 30.0
"""Seconds after which a leader proposes an ISR without a follower by itself."""
SETTINGS = {"min.insync.replicas": 2, "default.replication.factor": 3}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(3, config=SETTINGS) as cluster:
        with client_of(cluster, 0) as client:
            create_topic(client, "t", 2, replicas=3)
        cluster.wait_until_in_sync()
        yield cluster


def client_of(cluster: Cluster, broker_id: int) -> RawClient:
    host, _, port = cluster.brokers[broker_id].bootstrap_servers.rpartition(":")
    return RawClient((host, int(port)))


def isr_of(cluster: Cluster, partition: int) -> set[int]:
    with client_of(cluster, cluster.leader_of("t", partition)) as client:
        rows: Any = {row.partition_index: row for row in describe_topic(client, "t").partitions}
    return set(rows[partition].isr_nodes)


def described(cluster: Cluster) -> list[tuple[str, bool]]:
    """Return the faults of a cluster, and whether each is over."""
    return [(each.description, each.ended is not None) for each in cluster.condition().faults]


def test_an_isolated_broker_is_told_until_it_is_reconnected(cluster: Cluster) -> None:
    cluster.isolate(1)
    assert ("Broker 1 is isolated", False) in described(cluster)
    cluster.heal()
    assert ("Broker 1 is isolated", True) in described(cluster)
    cluster.wait_until_in_sync()


def test_an_isr_is_small_until_the_fault_ends(cluster: Cluster) -> None:
    leader = cluster.leader_of("t", 0)
    with client_of(cluster, leader) as client:
        with cluster.shrink_isr("t", 0):
            assert isr_of(cluster, 0) == {leader}
            assert produce(client, "t", BATCH, 0, -1).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
            assert isr_of(cluster, 1) == {0, 1, 2}
            others = ", ".join(map(str, sorted({0, 1, 2} - {leader})))
            assert described(cluster)[-1] == (f"Brokers {others} do not follow t-0", False)
        eventually(lambda: isr_of(cluster, 0) == {0, 1, 2}, "all are in sync again")
        assert produce(client, "t", BATCH, 0, -1).error_code == 0
        other = min({0, 1, 2} - {leader})
        with cluster.shrink_isr("t", 0, to=[leader, other]):
            assert isr_of(cluster, 0) == {leader, other}
            assert produce(client, "t", BATCH, 0, -1).error_code == 0


def test_an_isr_shrinks_while_followers_join_it(cluster: Cluster) -> None:
    leader = cluster.leader_of("t", 0)
    began = time.monotonic()
    with client_of(cluster, leader) as client:
        for _ in range(10):
            with cluster.shrink_isr("t", 0):
                assert isr_of(cluster, 0) == {leader}
            assert produce(client, "t", BATCH, 0, 1).error_code == 0  # wakes the followers
            time.sleep(random() / 20)  # they join at once, or after their pause
    assert time.monotonic() - began < MAX_LAG_S
    cluster.wait_until_in_sync()


def test_a_lost_leader_is_back_at_the_end(cluster: Cluster) -> None:
    cluster.wait_until_in_sync()
    before = cluster.leader_of("t", 1)
    with cluster.lose_leader("t", 1) as lost:
        assert lost.broker_id == before
        assert not cluster.brokers[before].is_running
        assert (f"Broker {before} was killed", False) in described(cluster)
        eventually(lambda: cluster.leader_of("t", 1) not in (before, -1), "another broker leads")
    assert cluster.brokers[before].is_running
    cluster.wait_until_in_sync()


def test_the_brokers_of_a_cluster_count_a_fault_together(cluster: Cluster) -> None:
    cluster.wait_until_in_sync()
    with cluster.faults.fail("Metadata", "LEADER_NOT_AVAILABLE", topic="t", times=2) as fault:
        errors = []
        for broker_id in (0, 1, 2):
            with client_of(cluster, broker_id) as client:
                errors.append(describe_topic(client, "t").error_code)
        assert errors == [ErrorCode.LEADER_NOT_AVAILABLE] * 2 + [0]
        assert fault.struck == 2
        assert repr(fault).endswith("at most 2, struck 2, over>")
    with cluster.faults.fail("Metadata", "LEADER_NOT_AVAILABLE"):
        cluster.faults.clear()
        with client_of(cluster, 1) as client:
            assert describe_topic(client, "t").error_code == 0


def test_a_broker_that_starts_again_is_struck_again(cluster: Cluster) -> None:
    def errors() -> list[int]:
        found = []
        for broker_id in (0, 1):
            with client_of(cluster, broker_id) as client:
                found.append(describe_topic(client, "t").error_code)
        return found

    cluster.wait_until_in_sync()
    struck, restarted = ErrorCode.LEADER_NOT_AVAILABLE, cluster.brokers[1]
    restarted.kill()
    with cluster.faults.fail("Metadata", "LEADER_NOT_AVAILABLE", topic="t") as fault:
        restarted.start()  # at the beginning of the fault it did not run
        assert errors() == [struck, struck]
        restarted.stop()
        restarted.start()
        assert errors() == [struck, struck]
        assert fault.struck == 4
        restarted.kill()
        cluster.faults.clear()
        assert repr(fault).endswith("struck 4, over>")
        restarted.start()
        cluster.wait_until_in_sync()
        assert errors() == [0, 0]
    with restarted.faults.fail("Metadata", "LEADER_NOT_AVAILABLE", topic="t"):
        restarted.kill()
        restarted.start()
        assert errors() == [0, struck]
    cluster.wait_until_in_sync()
    assert errors() == [0, 0]


def test_what_is_not_possible_is_refused(cluster: Cluster) -> None:
    leader = cluster.leader_of("t", 0)
    with pytest.raises(UsageError, match="none-0 has no leader: create the topic"):
        cluster.lose_leader("none", 0)
    for wrong in (0, 4, [5], [each for each in (0, 1, 2) if each != leader]):
        with pytest.raises(UsageError, match=r"to=.* is not "):
            cluster.shrink_isr("t", 0, to=wrong)
