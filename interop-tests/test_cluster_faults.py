"""Three brokers over a real ZooKeeper under load, with kill -9, SIGSTOP and links that are cut: in processes
and, where Linux lets us, on hosts of their own.

Nothing that was acknowledged is lost, doubled, reordered or shown too early, and replicas are alike to the
byte.

`KCOMPAT_FAULTS=100` kills a hundred leaders, plays the other faults in proportion, and insists on how long
each may be felt. Without it each is played once or twice, and the machine may be busy.

With `KCOMPAT_SECURED=1` the brokers reach each other by SASL_SSL.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from broker_cluster import SETTINGS, BrokerCluster
from cluster_changes import Changes
from cluster_load import LIGHT_PAUSE_S, Confluent, KafkaPython, Load
from cluster_proof import FAULTS, PARTITIONS, TIMEOUT_S, Proof, often, report
from hosts import Hosts, are_possible
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.broker_process import NO_LISTENERS
from support.raw_requests import ACKS_ALL, fetch, produce
from support.secured_brokers import INSIDE, settings_inside
from support.tls_authority import Authority

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from support.broker_process import BrokerProcess

pytestmark = pytest.mark.timeout(600 + 60 * FAULTS)
SESSION_S = int(SETTINGS["zookeeper.session.timeout.ms"]) / 1000


@pytest.fixture(scope="module")
def network() -> Iterator[Hosts | None]:
    with Hosts(4) if are_possible() else nullcontext() as hosts:
        yield hosts


@pytest.fixture(scope="module")
def cluster(network: Hosts | None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerCluster]:
    settings, listeners = SETTINGS, NO_LISTENERS
    if os.environ.get("KCOMPAT_SECURED"):
        addresses = [] if network is None else [host.address for host in network.hosts]
        authority = Authority(*addresses)
        settings, listeners = settings_inside(authority, tmp_path_factory.mktemp("stores")), INSIDE
    with BrokerCluster(settings=settings, hosts=network, listeners=listeners) as started:
        yield started
        for broker in started.brokers.values():
            assert "Traceback" not in broker.log_tail(10_000_000), broker.log_tail(8000)


@pytest.fixture
def proof(cluster: BrokerCluster, name: str) -> Iterator[Proof]:
    """Four idempotent producers with acks=all, and a consumer."""
    cluster.create_topic(name, PARTITIONS)
    with Load(cluster.bootstrap, name, PARTITIONS, pause_s=LIGHT_PAUSE_S) as load:
        proof = Proof(cluster, name, load)
        proof.wait_for_all()
        yield proof


def test_leaders_that_are_killed(proof: Proof) -> None:
    for number in often(100, least=2):
        partition, leader = proof.leader_of(number)
        killed_at = time.monotonic()
        proof.cluster.brokers[leader].kill()
        proof.wait_for_another(partition, leader, killed_at)
        proof.cluster.brokers[leader].start()
        proof.wait_until_whole()
    proof.judge()
    proof.report("a kill", 1.0)


@pytest.mark.thorough("leaders that are isolated are as silent")
def test_leaders_that_hang(proof: Proof) -> None:
    for number in often(50):
        partition, leader = proof.leader_of(number)
        frozen_at = time.monotonic()
        proof.cluster.freeze(leader)
        proof.wait_for_another(partition, leader, frozen_at)
        proof.cluster.thaw(leader)
        proof.wait_until_whole()
    proof.judge()
    proof.report("a SIGSTOP", SESSION_S + 0.5)


def test_leaders_that_are_isolated(network: Hosts | None, proof: Proof) -> None:
    """From the other brokers and ZooKeeper; clients still reach them."""
    if network is None:
        pytest.skip("network namespaces need root and the command ip: install iproute2")
    for number in often(30):
        partition, leader = proof.leader_of(number)
        host = network.hosts[leader - 1]
        cut_at = time.monotonic()
        network.cut(host, *(other for other in network.hosts if other is not host))
        tail = tail_of_an_isolated_leader(proof, leader, partition)
        proof.wait_for_another(partition, leader, cut_at)
        with proof.cluster.client(leader) as client:
            assert not fetch(client, proof.topic, tail, partition).records
        network.heal()
        proof.wait_until_whole()
    proof.judge()
    proof.report("a cut link", SESSION_S + 0.5)


def tail_of_an_isolated_leader(proof: Proof, leader: int, partition: int) -> int:
    """Write what will be cut off again; the offset of it. With acks=all it is not acknowledged."""
    with proof.cluster.client(leader) as client:
        answers = []
        for acks in (1, ACKS_ALL):
            batch = build_batch([Record(0, int(time.time() * 1000), None, b"nobody may read this")])
            answers.append(produce(client, proof.topic, batch, partition, acks))
    (written, refused) = answers
    assert written.error_code == 0
    assert refused.error_code != 0
    return int(written.base_offset)


def test_all_brokers_killed_at_once(proof: Proof) -> None:
    brokers = list(proof.cluster.brokers.values())
    took = []
    for _ in often(10):
        for broker in brokers:
            broker.kill()
        started_at = time.monotonic()
        start_together(brokers)
        proof.wait_until_whole()
        proof.wait_for_all()
        took.append(time.monotonic() - started_at)
    proof.judge()
    report("from the start of three killed brokers until they serve again", took, 3.0)


def start_together(brokers: Sequence[BrokerProcess]) -> None:
    with ThreadPoolExecutor(len(brokers)) as pool:
        list(pool.map(lambda broker: broker.start(), brokers))


def test_a_zookeeper_that_is_killed_and_comes_back(proof: Proof) -> None:
    cluster = proof.cluster
    for number in often(5):
        cluster.zookeeper.kill()
        proof.wait_for_all()  # who leads goes on
        cluster.zookeeper.start()
        partition, leader = proof.leader_of(number)
        killed_at = time.monotonic()
        cluster.brokers[leader].kill()
        proof.wait_for_another(partition, leader, killed_at)
        cluster.brokers[leader].start()
        proof.wait_until_whole()
    proof.judge()


def test_controllers_that_are_killed_amid_changes(cluster: BrokerCluster) -> None:
    with Changes(cluster) as changes:
        for _ in often(50, least=2):
            changes.wait_for(5, TIMEOUT_S)
            controller = cluster.metadata().controller_id
            cluster.brokers[controller].kill()
            changes.wait_for(2, TIMEOUT_S)
            cluster.brokers[controller].start()
            cluster.wait_until_in_sync(TIMEOUT_S)
        changes.stop()
        cluster.wait_until_in_sync(TIMEOUT_S)
        changes.judge(TIMEOUT_S)
    print(f"\n{changes.acknowledged} changes were acknowledged, {changes.unknown} were not")


def test_a_rolling_restart_under_clients_with_their_defaults(cluster: BrokerCluster, name: str) -> None:
    """No client of an application is told of it. Defaults do not promise that nothing is doubled."""
    cluster.create_topic(name, PARTITIONS)
    stopped_in = []
    with Load(cluster.bootstrap, name, PARTITIONS, producers=2, kinds=(Confluent, KafkaPython)) as load:
        proof = Proof(cluster, name, load, idempotent=False)
        proof.wait_for_all()
        for _ in often(3):
            for broker in cluster.brokers.values():
                begin = time.monotonic()
                broker.stop()
                stopped_in.append(time.monotonic() - begin)
                proof.wait_for_all()
                broker.start()
                proof.wait_until_whole()
        proof.judge()
    assert load.errors == []
    assert all(sent.outcome.value == "acknowledged" for sent in load.history.sent)
    report("a clean shutdown, with all leaderships moved", stopped_in, 1.0)
