"""A data directory changes hands: a real Kafka in ZooKeeper mode takes over ours, we adopt one of its own."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic

from commands import run
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_producers import DescribeProducersRequest
from kcompat.protocol.messages.init_producer_id import InitProducerIdRequest
from kcompat.protocol.messages.list_groups import ListGroupsRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from real_kafka import RealKafka
from support.eventually import eventually
from support.kcompat_broker import KcompatBroker
from support.log_tools import what_kafka_finds_wrong, what_we_find_wrong
from support.raw_client import RawClient
from zookeeper_kafka import ZooKeeper, ZooKeeperKafka

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.broker_process import BrokerProcess

pytestmark = [
    pytest.mark.timeout(300),  # several starts of a Kafka, one after another
    pytest.mark.thorough("test_take_over.py and test_hand_over.py change hands with one directory"),
]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
CUT = "t-none"
IDEMPOTENT = "t-idempotent"
SEGMENTS = {"segment.bytes": "20000", "index.interval.bytes": "500"}
AT_ONCE = {"group.initial.rebalance.delay.ms": "0"}
RECORDS = 300


@pytest.fixture(scope="module")
def zookeeper_at() -> Iterator[Any]:
    """Starts a ZooKeeper for one test; all are stopped at the end."""
    started: list[ZooKeeper] = []

    def start() -> ZooKeeper:
        zookeeper = ZooKeeper()
        started.append(zookeeper)
        zookeeper.start()
        return zookeeper

    yield start
    for zookeeper in started:
        zookeeper.close()


def raw(broker: BrokerProcess) -> RawClient:
    return RawClient(("127.0.0.1", broker.port))


def new_producer_id(broker: BrokerProcess) -> int:
    """An id from the broker, which on Kafka may not have any at once."""
    with raw(broker) as client:
        while True:
            answer = client.call(InitProducerIdRequest(transactional_id=None), 2)
            if answer.error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                assert answer.error_code == 0
                return int(answer.producer_id)


def append(broker: BrokerProcess, producer_id: int, sequence: int) -> int:
    """Produce two records as an idempotent producer does; the offset they are at."""
    now_ms = int(time.time() * 1000)
    batch = build_batch(
        [Record(0, now_ms, b"k", b"%d" % number) for number in range(2)],
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
    )
    part = ProduceRequest.PartitionProduceData(0, memoryview(batch))
    topic = ProduceRequest.TopicProduceData(name=IDEMPOTENT, partition_data=[part])
    with raw(broker) as client:
        answer = client.call(ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[topic]), 8)
    (partition,) = answer.responses[0].partition_responses
    assert partition.error_code == 0
    return int(partition.base_offset)


def fill(broker: BrokerProcess) -> None:
    """Topics in every codec over several segments, and a group that has read one of them."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    topics = [NewTopic(f"t-{codec}", 2, 1, config=SEGMENTS) for codec in CODECS]
    for created in admin.create_topics([*topics, NewTopic(IDEMPOTENT, 1, 1)]).values():
        created.result(30)
    now_ms = int(time.time() * 1000)
    for codec in CODECS:
        producer = Producer(
            {
                "bootstrap.servers": broker.bootstrap,
                "log_level": 0,
                "enable.idempotence": True,
                "compression.type": codec,
                "batch.size": 1000,
            }
        )
        for number in range(RECORDS):
            producer.produce(
                f"t-{codec}",
                f"value {number}".encode() * 30,
                None if number % 7 == 0 else f"key {number}".encode(),
                number % 2,
                timestamp=now_ms + number,
                headers=[("h", None), ("i", b"\xff")] if number % 5 == 0 else None,
            )
            producer.poll(0)
        assert producer.flush(30) == 0
    read_as_group(broker, "readers", RECORDS)


def read_as_group(broker: BrokerProcess, group: str, count: int) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "log_level": 0,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(["t-gzip"])
    try:
        for _ in range(count):
            message = consumer.poll(30)
            assert message is not None
            assert message.error() is None, message.error()
        offsets = [TopicPartition("t-gzip", index, 100 + index, f"note {index}") for index in range(2)]
        consumer.commit(offsets=offsets, asynchronous=False)
    finally:
        consumer.close()


def transact(broker: BrokerProcess) -> list[Producer]:
    """A transaction committed, one aborted, one left open; the producers, which must not end before it."""
    producers = []
    for end in ("commit_transaction", "abort_transaction", None):
        producer = Producer(
            {"bootstrap.servers": broker.bootstrap, "log_level": 0, "transactional.id": f"tx-{end}"}
        )
        producer.init_transactions(30)
        producer.begin_transaction()
        for number in range(20):
            producer.produce("t-lz4", f"{end} {number}".encode(), partition=0)
        assert producer.flush(30) == 0
        if end is not None:
            getattr(producer, end)(30)
        producers.append(producer)
    return producers


def cut(broker: BrokerProcess) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    for deleted in admin.delete_records([TopicPartition(CUT, 1, 77)]).values():
        assert deleted.result(30).low_watermark == 77


def picture(broker: BrokerProcess) -> dict[str, Any]:
    """All that clients can see: cluster, topics, records, producers, groups and what they have committed."""
    with raw(broker) as client:
        metadata = client.call(MetadataRequest(topics=None), 12)
        topics = {topic.name: (topic.topic_id, len(topic.partitions)) for topic in metadata.topics}
        own = {name: count for name, (_, count) in topics.items() if not name.startswith("__")}
        producers = producers_of(client, own)
    partitions = [(name, index) for name, count in own.items() for index in range(count)]
    return {
        "cluster": metadata.cluster_id,
        "brokers": [node.node_id for node in metadata.brokers],
        "topics": topics,
        "producers": producers,
        "committed": records_of(broker, partitions, "read_committed"),
        "uncommitted": records_of(broker, partitions, "read_uncommitted"),
        "groups": groups_of(broker),
    }


def producers_of(client: RawClient, topics: dict[str, int]) -> dict[tuple[str, int], list[Any]]:
    asked = [
        DescribeProducersRequest.TopicRequest(name, list(range(count))) for name, count in topics.items()
    ]
    answer = client.call(DescribeProducersRequest(asked), 0)
    return {
        (topic.name, partition.partition_index): sorted(
            (
                state.producer_id,
                state.producer_epoch,
                state.last_sequence,
                state.last_timestamp,
                state.current_txn_start_offset,
            )
            for state in partition.active_producers
        )
        for topic in answer.topics
        for partition in topic.partitions
    }


def records_of(
    broker: BrokerProcess, partitions: list[tuple[str, int]], isolation: str
) -> dict[tuple[str, int], list[Any]]:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "log_level": 0,
            "group.id": "unused",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation,
            "check.crcs": True,
        }
    )
    consumer.assign([TopicPartition(*partition, OFFSET_BEGINNING) for partition in partitions])
    found: dict[tuple[str, int], list[Any]] = {partition: [] for partition in partitions}
    unread = set(partitions)
    try:
        while unread:
            message = consumer.poll(30)
            assert message is not None, "neither records nor the end of the partition"
            partition = message.topic(), message.partition()
            if message.error() is not None:
                assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                unread.discard(partition)
            else:
                content = message.offset(), message.timestamp(), message.key(), message.value()
                found[partition].append((*content, message.headers()))
    finally:
        consumer.close()
    return found


def groups_of(broker: BrokerProcess) -> dict[str, Any]:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    listed = admin.list_consumer_groups().result(30).valid
    groups = {}
    for group in listed:
        request = ConsumerGroupTopicPartitions(group.group_id)
        (offsets,) = admin.list_consumer_group_offsets([request]).values()
        committed = [
            (p.topic, p.partition, p.offset, p.metadata) for p in offsets.result(30).topic_partitions
        ]
        groups[group.group_id] = (group.state.name, sorted(committed))
    return groups


def serves(broker: BrokerProcess, topics: int) -> bool:
    """Whether a broker that answers has taken over its partitions and loaded its groups."""
    with raw(broker) as client:
        metadata = client.call(MetadataRequest(topics=None), 12)
        leaders = [part.leader_id for topic in metadata.topics for part in topic.partitions]
        return len(metadata.topics) == topics and min(leaders) >= 0 and not list_error(client)


def list_error(client: RawClient) -> int:
    return int(client.call(ListGroupsRequest(), 4).error_code)


def goes_on(broker: BrokerProcess, before: dict[str, Any], producer_id: int, last_offset: int) -> None:
    """The new owner shows what the old one showed, knows its producers, and can be used."""
    eventually(lambda: serves(broker, len(before["topics"])), "all partitions and groups are served")
    assert picture(broker) == before
    assert append(broker, producer_id, 0) == last_offset, "a duplicate is recognised"
    assert picture(broker) == before
    assert append(broker, producer_id, 2) == last_offset + 2, "the sequence goes on"
    used = {state[0] for states in before["producers"].values() for state in states}
    assert new_producer_id(broker) > max(used)
    read_as_group(broker, "readers", 1)
    read_as_group(broker, "later readers", RECORDS)


@pytest.mark.parametrize(("end", "chroot"), [("stop", ""), ("kill", "/some/kafka")])
def test_kafka_takes_over_our_directory(tmp_path: Path, zookeeper_at: Any, end: str, chroot: str) -> None:
    with KcompatBroker(AT_ONCE, tmp_path) as ours:
        fill(ours)
        cut(ours)
        producer_id = new_producer_id(ours)
        offset = append(ours, producer_id, 0)
        before = picture(ours)
        assert before["groups"]["readers"] == (
            "EMPTY",
            [("t-gzip", 0, 100, "note 0"), ("t-gzip", 1, 101, "note 1")],
        )
        getattr(ours, end)()
    zookeeper = zookeeper_at()
    connect = f"{zookeeper.bootstrap}{chroot}"
    command = [sys.executable, "-m", "kcompat", "hand-over"]
    said = run([*command, "--data-dir", tmp_path / "data", "--zookeeper", connect])
    assert f"cluster {before['cluster']}, 7 topics with 61 partitions." in said
    settings = f"broker.id=1\nlog.dirs={tmp_path / 'data'}\nzookeeper.connect={connect}\n"
    assert said.endswith(settings)
    with ZooKeeperKafka(zookeeper, tmp_path, chroot=chroot) as kafka:
        goes_on(kafka, before, producer_id, offset)
        newest_id = new_producer_id(kafka)
        append(kafka, newest_id, 0)
        before = picture(kafka)
        kafka.stop()
    assert what_kafka_finds_wrong(tmp_path / "data") == []
    assert what_we_find_wrong(tmp_path / "data") == ""
    (tmp_path / "process.log").unlink()
    with KcompatBroker(AT_ONCE, tmp_path) as ours:  # with the `metadata.db` it had before Kafka took over
        assert picture(ours) == before
        assert new_producer_id(ours) > newest_id


@pytest.mark.parametrize(("mode", "end"), [("zookeeper", "stop"), ("zookeeper", "kill"), ("kraft", "stop")])
def test_we_adopt_a_directory_of_kafka(tmp_path: Path, zookeeper_at: Any, mode: str, end: str) -> None:
    number = {"broker.id": "3"}
    zookeeper = zookeeper_at() if mode == "zookeeper" else None
    real = ZooKeeperKafka(zookeeper, tmp_path, number) if zookeeper else RealKafka(data_dir=tmp_path)
    with real as kafka:
        fill(kafka)
        open_ones = transact(kafka)
        if end == "stop":  # Kafka can forget deleted records when it is killed
            cut(kafka)
        producer_id = new_producer_id(kafka)
        offset = append(kafka, producer_id, 0)
        before = picture(kafka)
        getattr(kafka, end)()
        del open_ones
    kafka.log_path.rename(tmp_path / "kafka.log")
    assert what_we_find_wrong(tmp_path / "data") == ""
    with KcompatBroker(AT_ONCE, tmp_path) as ours:
        goes_on(ours, before, producer_id, offset)
        assert "Their configurations are not known" in ours.log_tail()
    assert what_kafka_finds_wrong(tmp_path / "data") == []
    assert what_we_find_wrong(tmp_path / "data") == ""
