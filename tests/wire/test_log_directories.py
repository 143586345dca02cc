"""Three brokers with two log directories each: replicas move between them under load, and one disk fails."""

from __future__ import annotations

import time
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Cluster
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.eventually import Patience, limit_s
from support.ports import free_port
from support.raw_client import RawClient
from support.raw_requests import read_all

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TIMEOUT_S = 30
BROKERS = range(3)
DIRECTORIES = ("one", "other")
RETRIABLE = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.KAFKA_STORAGE_ERROR,
)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """With a topic "t" of two partitions, whose replicas are in the directories by their numbers."""
    settings = {
        "min.insync.replicas": 2,
        "auto.leader.rebalance.enable": False,  # who leads is asked first, and then read from
        "log.dirs": ",".join(str(tmp_path / name) for name in DIRECTORIES),
        "replica.high.watermark.checkpoint.interval.ms": 50,
    }
    with Cluster(3, port=free_port(3), config=settings) as started:
        configs = [CreateTopicsRequest.CreatableTopicConfig("segment.bytes", "1000")]
        topic = CreateTopicsRequest.CreatableTopic(
            name="t", num_partitions=2, replication_factor=3, configs=configs
        )
        with client(started, metadata(started).controller_id) as asking:
            (row,) = asking.call(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 5).topics
        assert row.error_code == 0, row
        started.wait_until_in_sync(limit_s(TIMEOUT_S))
        yield started


def client(cluster: Cluster, broker_id: int) -> RawClient:
    host, port = cluster.brokers[broker_id].bootstrap_servers.rsplit(":", 1)
    return RawClient((host, int(port)), TIMEOUT_S)


def metadata(cluster: Cluster) -> Any:
    with client(cluster, 0) as asking:
        return asking.call(MetadataRequest(topics=None), 9)


def produce(cluster: Cluster, partition: int, value: bytes) -> None:
    """One record with acks=all, tried again as clients do."""
    batch = build_batch([Record(0, 0, None, value)])
    patience = Patience(TIMEOUT_S)
    while True:
        leader = cluster.leader_of("t", partition)
        error = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if leader >= 0:
            data = ProduceRequest.PartitionProduceData(partition, memoryview(batch))
            topic = ProduceRequest.TopicProduceData(name="t", partition_data=[data])
            with client(cluster, leader) as asking:
                answer = asking.call(ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[topic]), 9)
            error = answer.responses[0].partition_responses[0].error_code
        if not error:
            return
        assert error in RETRIABLE, error
        assert patience.lasts, error
        time.sleep(0.01)


def values(cluster: Cluster, partition: int) -> list[bytes]:
    """Return the values of the records that the leader serves."""
    with client(cluster, cluster.leader_of("t", partition)) as asking:
        return [record.value or b"" for record in read_all(asking, "t", partition)]


def await_values(cluster: Cluster, partition: int, expected: list[bytes]) -> None:
    """A new leader shows the last records once its followers have asked it for what comes next."""
    patience = Patience(TIMEOUT_S)
    while (found := values(cluster, partition)) != expected and patience.lasts:
        time.sleep(0.01)
    assert found == expected


def places(cluster: Cluster, broker_id: int) -> dict[str, list[tuple[int, bool]]]:
    """By directory the partitions of a broker, and whether they are copies; a failed one has none."""
    with client(cluster, broker_id) as asking:
        answer = asking.call(DescribeLogDirsRequest(topics=None), 4)
    return {
        result.log_dir.split("/")[-2]: sorted(
            (row.partition_index, row.is_future_key) for topic in result.topics for row in topic.partitions
        )
        for result in answer.results
        if not result.error_code
    }


def move(cluster: Cluster, broker_id: int, partition: int, directory: Path) -> None:
    topic = AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic("t", [partition])
    to = AlterReplicaLogDirsRequest.AlterReplicaLogDir(f"{directory}/broker-{broker_id}", [topic])
    with client(cluster, broker_id) as asking:
        (result,) = asking.call(AlterReplicaLogDirsRequest([to]), 2).results
    assert [row.error_code for row in result.partitions] == [0]


def test_replicas_move_under_load_and_nothing_is_lost(cluster: Cluster, tmp_path: Path) -> None:
    """The leader's and its followers', there and back, while records are written."""
    written: list[bytes] = []
    is_over = Event()

    def write() -> None:
        while not is_over.is_set():
            value = b"%06d" % len(written) + bytes(100)
            produce(cluster, 0, value)
            written.append(value)

    writer = Thread(target=write)
    writer.start()
    try:
        for name in ("other", "one", "other"):
            there = {name: [(0, False), (1, False)] if name == "other" else [(0, False)]}
            for broker_id in BROKERS:
                move(cluster, broker_id, 0, tmp_path / name)
            patience = Patience(TIMEOUT_S)
            for broker_id in BROKERS:
                while places(cluster, broker_id)[name] != there[name]:
                    assert patience.lasts, places(cluster, broker_id)
                    time.sleep(0.01)
        count = len(written)
        while len(written) < count + 5:
            assert patience.lasts
            time.sleep(0.01)
    finally:
        is_over.set()
        writer.join()
    cluster.wait_until_in_sync(limit_s(TIMEOUT_S))
    assert values(cluster, 0) == written
    leader = cluster.leader_of("t", 0)
    cluster.brokers[leader].kill()
    cluster.brokers[leader].start()
    cluster.wait_until_in_sync(limit_s(TIMEOUT_S))
    await_values(cluster, 0, written)
    assert places(cluster, leader) == {"one": [], "other": [(0, False), (1, False)]}


def test_leaderships_leave_a_disk_that_fails_and_what_is_on_the_others_stays(
    cluster: Cluster, tmp_path: Path
) -> None:
    """The one directory of a broker is gone from one moment to the next: all it led there others lead soon,
    with all that was acknowledged. Back on a disk that works, its replicas catch up.
    """
    leader = cluster.leader_of("t", 0)
    written = [b"%06d" % number + bytes(300) for number in range(20)]
    for value in written[:5]:
        produce(cluster, 0, value)
        produce(cluster, 1, value)
    home = tmp_path / "one" / f"broker-{leader}"
    elsewhere = tmp_path / "elsewhere"
    home.rename(elsewhere)
    for value in written[5:]:
        produce(cluster, 0, value)
    assert cluster.leader_of("t", 0) not in (leader, -1)
    assert values(cluster, 0) == written
    assert places(cluster, leader) == {"other": [(1, False)]}
    patience = Patience(TIMEOUT_S)
    while True:
        (topic,) = metadata(cluster).topics
        shown = {
            row.partition_index: (sorted(row.isr_nodes), row.offline_replicas) for row in topic.partitions
        }
        if shown == {0: (sorted(set(BROKERS) - {leader}), [leader]), 1: (list(BROKERS), [])}:
            break
        assert patience.lasts, shown
        time.sleep(0.05)
    for value in written[5:]:
        produce(cluster, 1, value)
    assert values(cluster, 1) == written
    cluster.brokers[leader].stop()
    elsewhere.rename(home)
    cluster.brokers[leader].start()
    cluster.wait_until_in_sync(limit_s(TIMEOUT_S))
    assert places(cluster, leader) == {"one": [(0, False)], "other": [(1, False)]}
    assert values(cluster, 0) == written
