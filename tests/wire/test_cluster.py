"""`kcompat.Cluster`: brokers that replicate to each other, and what becomes of them when one is lost."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Cluster
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.batch import build_batch, iter_headers, read_records
from kcompat.records.record import Record
from support.eventually import Patience, eventually, limit_s
from support.raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import Iterator

SETTINGS = {
    "min.insync.replicas": 2,
    "zookeeper.session.timeout.ms": 3000,
    "auto.leader.rebalance.enable": False,  # who leads stays the leader until a test says otherwise
}
TIMEOUT_S = 20
TOPIC = "t"
RETRIABLE = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(3, config=SETTINGS) as started:
        yield started


def client(cluster: Cluster, broker_id: int) -> RawClient:
    host, port = cluster.brokers[broker_id].bootstrap_servers.rsplit(":", 1)
    return RawClient((host, int(port)), TIMEOUT_S)


def metadata(cluster: Cluster, broker_id: int) -> Any:
    with client(cluster, broker_id) as asking:
        return asking.call(MetadataRequest(topics=None), 9)


def create(cluster: Cluster, *, partitions: int = 1, replicas: int = 3) -> None:
    topic = CreateTopicsRequest.CreatableTopic(
        name=TOPIC, num_partitions=partitions, replication_factor=replicas
    )
    with client(cluster, metadata(cluster, 0).controller_id) as asking:
        (row,) = asking.call(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 5).topics
    assert row.error_code == 0, row
    cluster.wait_until_in_sync(limit_s(TIMEOUT_S))


def produce(cluster: Cluster, broker_id: int, *values: bytes, timeout_ms: int = 10_000) -> int:
    """The error code of a produce with acks=all."""
    batch = build_batch([Record(0, 0, None, value) for value in values])
    data = ProduceRequest.PartitionProduceData(0, memoryview(batch))
    topic = ProduceRequest.TopicProduceData(name=TOPIC, partition_data=[data])
    with client(cluster, broker_id) as asking:
        answer = asking.call(ProduceRequest(acks=-1, timeout_ms=timeout_ms, topic_data=[topic]), 9)
    return int(answer.responses[0].partition_responses[0].error_code)


def produce_in_the_end(cluster: Cluster, broker_id: int, value: bytes) -> None:
    """As clients do: try again while the broker does not know yet that it leads, or lacks followers."""
    patience = Patience(TIMEOUT_S)
    while error := produce(cluster, broker_id, value):
        assert error in RETRIABLE, error
        assert patience.lasts, error
        time.sleep(0.01)


def read(cluster: Cluster, broker_id: int, at_least: int) -> list[bytes]:
    """All that a consumer may see on a broker, once it is at least so many records: a new leader shows what
    was acknowledged when its followers have asked it.
    """
    seen: list[bytes] = []
    patience = Patience(TIMEOUT_S)
    with client(cluster, broker_id) as asking:
        while len(seen) < at_least:
            assert patience.lasts, seen
            row = FetchRequest.FetchPartition(0, fetch_offset=len(seen), partition_max_bytes=1 << 20)
            topic = FetchRequest.FetchTopic(TOPIC, partitions=[row])
            answer = asking.call(FetchRequest(max_wait_ms=500, min_bytes=1, topics=[topic]), 11)
            (partition,) = answer.responses[0].partitions
            assert partition.error_code == 0, partition
            seen += values(memoryview(partition.records or b""))
    return seen


def values(batches: memoryview) -> list[bytes]:
    """Return the value of each record of each batch."""
    return [
        bytes(record.value or b"")
        for position, header in iter_headers(batches)
        for record in read_records(batches[position : position + header.size])
    ]


def other_leader(cluster: Cluster, former: int) -> int:
    """The leader that takes the place of another."""
    eventually(lambda: cluster.leader_of(TOPIC, 0) not in (former, -1), "another broker leads", TIMEOUT_S)
    return cluster.leader_of(TOPIC, 0)


def test_every_broker_knows_the_others_and_serves_what_it_leads(cluster: Cluster) -> None:
    create(cluster, partitions=3)
    for broker in cluster.brokers:
        shown = metadata(cluster, broker.id)
        assert sorted(each.node_id for each in shown.brokers) == [0, 1, 2]
        (topic,) = shown.topics
        assert sorted(part.leader_id for part in topic.partitions) == [0, 1, 2]
        assert all(sorted(part.isr_nodes) == [0, 1, 2] for part in topic.partitions)


def test_what_was_acknowledged_outlives_a_killed_leader(cluster: Cluster) -> None:
    create(cluster)
    first = cluster.leader_of(TOPIC, 0)
    assert produce(cluster, first, b"one", b"two") == 0
    cluster.brokers[first].kill()
    second = other_leader(cluster, first)
    assert read(cluster, second, 2) == [b"one", b"two"]
    produce_in_the_end(cluster, second, b"three")
    cluster.brokers[first].start()
    cluster.wait_until_in_sync(limit_s(TIMEOUT_S))
    cluster.brokers[second].kill()
    third = other_leader(cluster, second)
    assert read(cluster, third, 3) == [b"one", b"two", b"three"]


@pytest.mark.parametrize("makes_topics", [False, True])
def test_a_broker_that_returns_denies_no_topic_and_knows_brokers_from_its_first_answer_on(
    cluster: Cluster, makes_topics: bool
) -> None:
    create(cluster, partitions=3)
    errors: list[int] = []

    def ask(host: str, port: str) -> None:
        patience = Patience(TIMEOUT_S)
        request = MetadataRequest(
            topics=[MetadataRequest.MetadataRequestTopic(name=TOPIC)], allow_auto_topic_creation=makes_topics
        )
        while ErrorCode.NONE not in errors:
            assert patience.lasts, errors
            with suppress(OSError), RawClient((host, int(port)), TIMEOUT_S) as asking:
                while ErrorCode.NONE not in errors:
                    answer = asking.call(request, 9)
                    assert answer.brokers
                    errors.append(answer.topics[0].error_code)

    for broker in cluster.brokers:
        errors.clear()
        address = broker.bootstrap_servers.rsplit(":", 1)
        broker.kill()
        with ThreadPoolExecutor() as clients:
            asked = clients.submit(ask, *address)
            broker.start()
            asked.result()
        assert set(errors) <= {ErrorCode.NONE, ErrorCode.LEADER_NOT_AVAILABLE}
        cluster.wait_until_in_sync(limit_s(TIMEOUT_S))


def test_a_broker_that_stops_has_moved_its_leaderships_first(cluster: Cluster) -> None:
    create(cluster)
    leader = cluster.leader_of(TOPIC, 0)
    assert produce(cluster, leader, b"one") == 0
    cluster.brokers[leader].stop()
    assert cluster.leader_of(TOPIC, 0) not in (leader, -1)
    assert read(cluster, cluster.leader_of(TOPIC, 0), 1) == [b"one"]


def test_a_leader_that_is_cut_off_acknowledges_nothing_and_forgets_what_it_took(cluster: Cluster) -> None:
    create(cluster)
    first = cluster.leader_of(TOPIC, 0)
    assert produce(cluster, first, b"one") == 0
    cluster.isolate(first)
    assert produce(cluster, first, b"lost", timeout_ms=500) != 0
    second = other_leader_among(cluster, first)
    produce_in_the_end(cluster, second, b"two")
    cluster.heal()
    cluster.wait_until_in_sync(limit_s(TIMEOUT_S))
    assert read(cluster, second, 2) == [b"one", b"two"]
    cluster.brokers[second].kill()
    assert read(cluster, other_leader(cluster, second), 2) == [b"one", b"two"]


def other_leader_among(cluster: Cluster, isolated: int) -> int:
    """The new leader, as a broker that is not cut off shows it."""
    witness = (isolated + 1) % 3
    patience = Patience(TIMEOUT_S)
    while True:
        (topic,) = metadata(cluster, witness).topics
        leader = int(topic.partitions[0].leader_id)
        if leader not in (isolated, -1):
            return leader
        assert patience.lasts, "nobody else leads"
        time.sleep(0.01)


def test_brokers_keep_their_ports_and_data_from_one_life_to_the_next(cluster: Cluster) -> None:
    create(cluster)
    before = cluster.bootstrap_servers
    assert produce(cluster, cluster.leader_of(TOPIC, 0), b"one") == 0
    for broker in cluster.brokers:
        broker.stop()
    assert not any(broker.is_running for broker in cluster.brokers)
    cluster.nodes  # noqa: B018 - it is still there
    for broker in cluster.brokers:
        broker.start()
    assert cluster.bootstrap_servers == before
    cluster.wait_until_in_sync(limit_s(TIMEOUT_S))
    assert read(cluster, cluster.leader_of(TOPIC, 0), 1) == [b"one"]


def test_the_offsets_topic_waits_for_as_many_brokers_as_it_has_replicas(cluster: Cluster) -> None:
    for late in cluster.brokers[1:]:
        late.stop()
    with client(cluster, 0) as asking:
        answer = asking.call(FindCoordinatorRequest(key="g"), 3)
        assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        for late in cluster.brokers[1:]:
            late.start()
        assert asking.call(FindCoordinatorRequest(key="g"), 3).error_code == 0
    (offsets,) = metadata(cluster, 0).topics
    assert {len(partition.replica_nodes) for partition in offsets.partitions} == {3}
