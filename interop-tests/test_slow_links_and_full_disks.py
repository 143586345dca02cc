"""Three brokers over a real ZooKeeper under load, each on a host of its own, whose links are slowed and whose
disks become full and fail.

Nothing that was acknowledged is lost, doubled, reordered or shown too early, and replicas are alike to the
byte. `KCOMPAT_FAULTS=100` plays each more often.
"""

from __future__ import annotations

import resource
import time
from typing import TYPE_CHECKING

import pytest

from broker_cluster import BrokerCluster
from cluster_load import LIGHT_PAUSE_S, Load
from cluster_proof import FAULTS, TIMEOUT_S, Proof, often
from hosts import Hosts, are_possible
from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from small_disk import SmallDisk
from support.eventually import eventually
from support.raw_requests import produce

if TYPE_CHECKING:
    from collections.abc import Iterator

LAG_S = 3
pytestmark = [
    pytest.mark.timeout(600 + 60 * FAULTS),
    pytest.mark.thorough("test_cluster_faults.py has other faults of links and brokers"),
]


@pytest.fixture(scope="module")
def network() -> Iterator[Hosts]:
    if not are_possible():
        pytest.skip("network namespaces and mounts need root and the commands ip and tc: install iproute2")
    with Hosts(4) as hosts:
        yield hosts


@pytest.fixture(scope="module")
def disks() -> dict[int, SmallDisk]:
    """Return a table for the small disks by broker id."""
    return {}


@pytest.fixture(scope="module")
def cluster(network: Hosts, disks: dict[int, SmallDisk]) -> Iterator[BrokerCluster]:
    cluster = BrokerCluster(hosts=network, settings={"replica.lag.time.max.ms": str(LAG_S * 1000)})
    try:
        for broker_id, broker in cluster.brokers.items():
            disks[broker_id] = SmallDisk(broker.home / "data")
            disks[broker_id].mount()
        with cluster:
            yield cluster
            for broker in cluster.brokers.values():
                assert "Traceback" not in broker.log_tail(10_000_000), broker.log_tail(8000)
            for broker in cluster.brokers.values():
                broker.stop()
    finally:
        for disk in disks.values():
            disk.unmount()


@pytest.fixture
def proof(cluster: BrokerCluster, name: str) -> Iterator[Proof]:
    """Four idempotent producers with acks=all, and a consumer."""
    cluster.create_topic(name, 6)
    with Load(cluster.bootstrap, name, 6, pause_s=LIGHT_PAUSE_S) as load:
        proof = Proof(cluster, name, load)
        proof.wait_for_all()
        yield proof


def in_sync(proof: Proof, partition: int) -> set[int]:
    """The ISR, as the brokers show it."""
    (part,) = (
        part
        for row in proof.cluster.metadata().topics
        if row.name == proof.topic
        for part in row.partitions
        if part.partition_index == partition
    )
    return set(part.isr_nodes)


def wait_until_out(proof: Proof, partition: int, broker_id: int) -> None:
    """Until a broker is in sync no more, and a record of the partition is acknowledged all the same."""
    eventually(lambda: broker_id not in in_sync(proof, partition), "the ISR is smaller", TIMEOUT_S)
    proof.load.wait_for_acknowledgement(partition, time.monotonic(), TIMEOUT_S)


def write(cluster: BrokerCluster, broker_id: int, topic: str) -> int:
    """Write something to a topic that no other broker has; the error."""
    with cluster.client(broker_id) as client:
        batch = build_batch([Record(0, int(time.time() * 1000), None, bytes(1000))])
        return int(produce(client, topic, batch, 0, 1).error_code)


def fill(cluster: BrokerCluster, broker_id: int, disk: SmallDisk, topic: str) -> None:
    """Leave no room, until the broker says so of a topic that it alone has."""
    disk.fill()
    full = ErrorCode.KAFKA_STORAGE_ERROR
    eventually(lambda: write(cluster, broker_id, topic) == full, "the disk is full", TIMEOUT_S)


def test_a_follower_behind_a_slow_link_leaves_the_isr_until_it_is_fast_again(
    network: Hosts, proof: Proof
) -> None:
    """ZooKeeper and clients are as near as ever."""
    for number in often(30):
        partition, leader = proof.leader_of(number)
        follower = max(in_sync(proof, partition) - {leader})
        host, brokers = network.hosts[follower - 1], network.hosts[:3]
        network.slow(host, *(other for other in brokers if other is not host), kbit_s=16)
        wait_until_out(proof, partition, follower)
        assert proof.cluster.leader_of(proof.topic, partition) == leader
        network.heal()
        proof.wait_until_whole()
    proof.judge()


def test_a_broker_whose_disk_is_full_goes_on_when_there_is_room(
    disks: dict[int, SmallDisk], proof: Proof, name: str
) -> None:
    """The broker leads on; other leaders go on without it meanwhile. No producer meets a gap."""
    for number in often(30):
        partition, leader = proof.leader_of(number)
        followed = next(index for index in range(6) if proof.leader_of(index)[1] != leader)
        alone = f"{name}-alone-{number}"
        proof.cluster.create_topic(alone, 1, placed=[[leader]])
        fill(proof.cluster, leader, disks[leader], alone)
        wait_until_out(proof, followed, leader)
        assert proof.cluster.leader_of(proof.topic, partition) == leader
        disks[leader].make_room()
        proof.wait_until_whole()
        proof.wait_for_all()
        assert write(proof.cluster, leader, alone) == ErrorCode.NONE
    proof.judge()
    assert proof.load.refusals == []


def test_a_broker_whose_disk_fails_leads_no_more_until_it_starts_again(proof: Proof) -> None:
    """A limit on the size of its files fails its writes with EFBIG, as a disk would with EIO."""
    for number in often(30):
        partition, leader = proof.leader_of(number)
        broker = proof.cluster.brokers[leader]
        failed_at = time.monotonic()
        resource.prlimit(broker.pid, resource.RLIMIT_FSIZE, (0, 0))
        proof.wait_for_another(partition, leader, failed_at)
        proof.wait_for_all()
        assert leader not in in_sync(proof, partition)
        broker.kill()
        broker.start()
        proof.wait_until_whole()
    proof.judge()
    proof.report("a failed disk", 1.0)
