"""The client contract with confluent-kafka 2.16."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import OffsetSpec

from contract import ClientContract, numbered
from drivers.confluent import Confluent
from support.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from drivers.base import Driver
    from support.broker_process import BrokerProcess


class TestConfluent(ClientContract):
    @classmethod
    def open_driver(cls, bootstrap: str) -> Driver:
        return Confluent(bootstrap)


class CooperativeConfluent(Confluent):
    """Members that keep what they own while a rebalance goes on (KIP-429)."""

    consumer_settings = {"partition.assignment.strategy": "cooperative-sticky"}


class TestCooperativeConfluent(ClientContract):
    @classmethod
    def open_driver(cls, bootstrap: str) -> Driver:
        return CooperativeConfluent(bootstrap)


@pytest.fixture
def driver(broker: BrokerProcess) -> Iterator[Confluent]:
    opened = Confluent(broker.bootstrap)
    yield opened
    opened.close()


def test_a_static_member_comes_back_without_a_rebalance(driver, broker, name):
    driver.create_topic(name, 2, {})
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": name,
        "group.instance.id": "one",
        "heartbeat.interval.ms": 300,
    }
    for _ in range(2):
        consumer: Any = ck.Consumer(settings)
        consumer.subscribe([name])
        eventually(lambda consumer=consumer: owns(consumer), "the member owns the partitions")
        consumer.close()
        assert driver.group(name) == ("Stable", 1), "a static member does not leave"


def test_a_group_that_the_broker_assigns(driver, broker, name):
    """KIP-848: names, a pattern, and a static member that restarts."""
    driver.create_topic(f"{name}-a", 2, {})
    driver.create_topic(f"{name}-b", 2, {})
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": name, "group.protocol": "consumer"}
    named: Any = ck.Consumer({**settings, "group.instance.id": "one"})
    named.subscribe([f"{name}-a"])
    eventually(lambda: owns(named), "the first member owns its partitions", 60)
    found: Any = ck.Consumer(settings)
    found.subscribe([f"^{name}-b"])
    eventually(lambda: owns(found), "the pattern finds its topic", 60)
    assert {row.topic for row in found.assignment()} == {f"{name}-b"}
    assert driver.group(name) == ("Stable", 2)
    described = driver.admin.describe_consumer_groups([name])[name].result(10)
    assert described.type == ck.ConsumerGroupType.CONSUMER
    named.close()
    back: Any = ck.Consumer({**settings, "group.instance.id": "one"})
    back.subscribe([f"{name}-a"])
    eventually(lambda: owns(back), "the static member has its partitions again", 60)
    back.close()
    found.close()


def test_topics_and_the_cluster_are_described(driver, broker, name):
    driver.create_topic(name, 3, {})
    described = driver.admin.describe_topics(ck.TopicCollection([name]))[name].result(10)
    assert [len(row.replicas) for row in described.partitions] == [1, 1, 1]
    assert not described.is_internal
    cluster = driver.admin.describe_cluster(include_authorized_operations=True).result(10)
    assert [f"{node.host}:{node.port}" for node in cluster.nodes] == [broker.bootstrap]
    assert cluster.authorized_operations


@pytest.mark.parametrize(("spec", "offset"), [(OffsetSpec.earliest(), 4), (OffsetSpec.latest(), 10)])
def test_offsets_are_listed_after_records_were_deleted(driver, name, spec, offset):
    driver.create_topic(name, 1, {})
    driver.produce(name, numbered(10))
    driver.delete_records(name, 0, before=4)
    (future,) = driver.admin.list_offsets({ck.TopicPartition(name, 0): spec}).values()
    assert future.result(10).offset == offset


def test_offsets_are_looked_up_by_time(driver, broker, name):
    driver.create_topic(name, 1, {})
    producer: Any = ck.Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(10):
        producer.produce(name, b"x", timestamp=1_700_000_000_000 + 1000 * number)
    assert producer.flush(10) == 0
    consumer: Any = ck.Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "unused"})
    wanted = ck.TopicPartition(name, 0, 1_700_000_000_000 + 3500)
    (found,) = consumer.offsets_for_times([wanted], 10)
    assert found.offset == 4
    assert consumer.get_watermark_offsets(ck.TopicPartition(name, 0), 10) == (0, 10)
    consumer.close()


def test_committed_offsets_are_altered_from_outside(driver, name):
    driver.create_topic(name, 1, {})
    change = ck.ConsumerGroupTopicPartitions(name, [ck.TopicPartition(name, 0, 5)])
    (future,) = driver.admin.alter_consumer_group_offsets([change]).values()
    assert future.result(10).topic_partitions[0].error is None
    assert driver.committed(name, name, 0) == 5


def test_a_consumer_is_told_that_a_partition_ends(driver, broker, name):
    driver.create_topic(name, 1, {})
    driver.produce(name, numbered(3))
    consumer: Any = ck.Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": "unused", "enable.partition.eof": True}
    )
    consumer.assign([ck.TopicPartition(name, 0, 0)])
    seen: list[Any] = []
    eventually(lambda: seen.append(consumer.poll(0.1)) or is_end(seen[-1]), "the end is told")
    assert sum(1 for message in seen if message is not None and message.error() is None) == 3
    consumer.close()


def is_end(message: Any) -> bool:
    return message is not None and message.error() and message.error().code() == ck.KafkaError._PARTITION_EOF


def owns(consumer: Any) -> bool:
    """Whether the consumer has partitions, after a little polling."""
    consumer.poll(0.05)
    return bool(consumer.assignment())
