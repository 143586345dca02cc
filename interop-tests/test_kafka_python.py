"""kafka-python 3.x; its admin client asks more of a broker than any other Python client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import kafka
import pytest
from kafka.admin import OffsetSpec
from kafka.errors import GroupSubscribedToTopicError, NoError

from contract import ClientContract, create_topic, numbered
from drivers.kafka_python import KafkaPython3
from support.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from drivers.base import Driver
    from support.broker_process import BrokerProcess


class TestKafkaPython(ClientContract):
    @classmethod
    def open_driver(cls, bootstrap: str) -> Driver:
        return KafkaPython3(bootstrap)


@pytest.fixture
def driver(broker: BrokerProcess) -> Iterator[KafkaPython3]:
    opened = KafkaPython3(broker.bootstrap)
    yield opened
    opened.close()


@pytest.fixture
def topic(driver: KafkaPython3, name: str) -> str:
    """A topic of two partitions with ten records each."""
    create_topic(driver, name, 2)
    driver.produce(name, numbered(20, partitions=2))
    return name


def offset_of(answer: dict[Any, Any], topic: str, partition: int) -> int:
    return int(answer[kafka.TopicPartition(topic, partition)].offset)


def test_the_cluster_is_described(driver, broker):
    (node,) = driver.admin.describe_cluster()["brokers"]
    assert f"{node['host']}:{node['port']}" == broker.bootstrap


def test_offsets_are_listed_by_what_they_mean(driver, topic):
    partition = kafka.TopicPartition(topic, 1)
    for spec, offset in ((OffsetSpec.EARLIEST, 0), (OffsetSpec.LATEST, 10)):
        assert offset_of(driver.admin.list_partition_offsets({partition: spec}), topic, 1) == offset
    newest = driver.admin.list_partition_offsets({partition: OffsetSpec.MAX_TIMESTAMP})
    assert 0 <= offset_of(newest, topic, 1) < 10


def test_records_are_deleted_up_to_an_offset(driver, topic):
    partition = kafka.TopicPartition(topic, 0)
    driver.admin.delete_records({partition: 4})
    assert offset_of(driver.admin.list_partition_offsets({partition: OffsetSpec.EARLIEST}), topic, 0) == 4
    assert [record.offset for record in driver.consume(topic, [0], 6, 4)] == list(range(4, 10))


def test_partitions_are_described_page_by_page(driver, topic):
    first = driver.admin.describe_topic_partitions([topic], response_partition_limit=1)
    assert [row["partition_index"] for row in first["topics"][0]["partitions"]] == [0]
    rest = driver.admin.describe_topic_partitions([topic], cursor=first["next_cursor"])
    assert [row["partition_index"] for row in rest["topics"][0]["partitions"]] == [1]
    assert rest["next_cursor"] is None


def test_log_directories_tell_sizes(driver, topic):
    (answer,) = driver.admin.describe_log_dirs({topic: [0, 1]})
    (directory,) = answer["log_dirs"]
    (described,) = directory["topics"]
    assert [row["partition_index"] for row in sorted(described["partitions"], key=str)] == [0, 1]
    assert all(row["partition_size"] > 10 for row in described["partitions"])


def test_producers_are_described(driver, topic, broker):
    producer = kafka.KafkaProducer(bootstrap_servers=broker.bootstrap, enable_idempotence=True)
    producer.send(topic, b"x", partition=0).get(10)
    producer.close()
    partition = kafka.TopicPartition(topic, 0)
    states = driver.admin.describe_producers([partition])[partition].active_producers
    state = max(states, key=lambda row: row.producer_id)
    assert (state.producer_epoch, state.last_sequence) == (0, 0)


def test_committed_offsets_are_altered_reset_and_deleted(driver, topic):
    group, partition = topic, kafka.TopicPartition(topic, 0)
    altered = driver.admin.alter_group_offsets(group, {partition: kafka.OffsetAndMetadata(7, "", -1)})
    assert altered == {partition: NoError}
    assert driver.committed(group, topic, 0) == 7
    reset = driver.admin.reset_group_offsets(group, {partition: OffsetSpec.EARLIEST})
    assert reset[partition]["error"] is NoError
    assert driver.committed(group, topic, 0) == 0
    assert driver.admin.delete_group_offsets(group, [partition]) == {partition: NoError}
    assert driver.committed(group, topic, 0) == -1


def test_offsets_of_a_topic_in_use_are_not_deleted(driver, topic):
    group, partition = topic, kafka.TopicPartition(topic, 0)
    member = driver.join(group, topic)
    try:
        eventually(lambda: driver.assigned(member) == [0, 1], "the member owns the partitions")
        driver.commit(member, topic, 0, 3)
        answer = driver.admin.delete_group_offsets(group, [partition])
        assert answer == {partition: GroupSubscribedToTopicError}
    finally:
        driver.leave(member)
    assert driver.committed(group, topic, 0) == 3
