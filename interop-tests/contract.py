"""Behaviour that every client library must see, written once; each library runs it through its driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from drivers.base import Driver, DriverError, Record
from support.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from support.broker_process import BrokerProcess

MESSAGE_TOO_LARGE = 10
TOPIC_ALREADY_EXISTS = 36

# A batch with one record of n bytes, without key and headers, has n + 70 bytes when n takes two to write.
BATCH_OVERHEAD = 70


def create_topic(
    driver: Driver, topic: str, partitions: int, configs: Mapping[str, str] | None = None
) -> None:
    """Create a topic and wait until it is known: a real Kafka answers before every part of it has heard."""
    driver.create_topic(topic, partitions, dict(configs or {}))
    eventually(lambda: topic in driver.topics(), "the topic is listed")


def numbered(count: int, partitions: int = 1) -> list[Record]:
    """Records that say their number, dealt to the partitions in turn."""
    return [Record(f"value {n}".encode() * 5, f"key {n}".encode(), (), n % partitions) for n in range(count)]


def contents(records: list[Record], partition: int) -> list[tuple[Any, ...]]:
    """Key, value and headers of one partition's records, in order."""
    return [(r.key, r.value, r.headers) for r in records if r.partition == partition]


class ClientContract:
    """The tests; a subclass provides the driver."""

    @classmethod
    def open_driver(cls, bootstrap: str) -> Driver:
        raise NotImplementedError

    @pytest.fixture(scope="class")
    @classmethod
    def driver(cls, session_broker: BrokerProcess) -> Iterator[Driver]:
        opened = cls.open_driver(session_broker.bootstrap)
        yield opened
        opened.close()

    @pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
    def test_produced_records_come_back_by_assignment(self, broker, driver, name, codec):
        create_topic(driver, name, 3)
        sent = numbered(300, partitions=3)
        driver.produce(name, sent, codec)
        got = driver.consume(name, [0, 1, 2], 300)
        for partition in range(3):
            assert contents(got, partition) == contents(sent, partition)
            assert [r.offset for r in got if r.partition == partition] == list(range(100))

    def test_reading_starts_at_the_offset_asked_for(self, broker, driver, name):
        create_topic(driver, name, 1)
        driver.produce(name, numbered(20))
        got = driver.consume(name, [0], 7, 13)
        assert [r.offset for r in got] == list(range(13, 20))

    def test_null_keys_and_values_and_headers(self, broker, driver, name):
        create_topic(driver, name, 1)
        absent = None if driver.null_header_values else b""
        sent = [
            Record(b"plain"),
            Record(b"keyed", b"k"),
            Record(None, b"tombstone"),
            Record(b"", b""),
            Record(b"headed", None, (("a", b"1"), ("a", b"2"), ("ünï", "ß".encode()), ("empty", absent))),
        ]
        driver.produce(name, sent)
        assert contents(driver.consume(name, [0], len(sent)), 0) == contents(sent, 0)

    def test_a_group_of_one_reads_everything(self, broker, driver, name):
        create_topic(driver, name, 2)
        sent = numbered(50, partitions=2)
        driver.produce(name, sent)
        member = driver.join(name, name)
        eventually(lambda: len(driver.received(member)) >= 50, "the member has every record")
        got = driver.received(member)
        driver.leave(member)
        for partition in range(2):
            assert contents(got, partition) == contents(sent, partition)

    def test_two_members_share_and_one_takes_over(self, broker, driver, name):
        create_topic(driver, name, 4)
        first = driver.join(name, name)
        eventually(lambda: driver.assigned(first) == [0, 1, 2, 3], "the first member owns all partitions")
        second = driver.join(name, name)

        def shared() -> bool:
            mine, other = driver.assigned(first), driver.assigned(second)
            return bool(mine) and bool(other) and sorted(mine + other) == [0, 1, 2, 3]

        eventually(shared, "both members own a part")
        driver.produce(name, numbered(40, partitions=4))
        eventually(
            lambda: len(driver.received(first)) + len(driver.received(second)) >= 40,
            "all records have arrived",
        )
        assert {r.partition for r in driver.received(second)} == set(driver.assigned(second))
        driver.leave(second)
        eventually(
            lambda: driver.assigned(first) == [0, 1, 2, 3], "the first member owns all partitions again"
        )
        driver.leave(first)

    def test_a_new_member_resumes_where_the_last_one_committed(self, broker, driver, name):
        create_topic(driver, name, 1)
        driver.produce(name, numbered(10))
        first = driver.join(name, name)
        eventually(lambda: len(driver.received(first)) == 10, "the first member has every record")
        driver.commit(first, name, 0, 6)
        driver.leave(first)
        assert driver.committed(name, name, 0) == 6
        second = driver.join(name, name)
        eventually(lambda: len(driver.received(second)) >= 4, "the second member has the rest")
        assert [r.offset for r in driver.received(second)] == [6, 7, 8, 9]
        driver.leave(second)

    def test_a_batch_at_the_limit_is_taken_and_one_over_it_is_not(self, broker, driver, name):
        limit = 2000
        create_topic(driver, name, 1, {"max.message.bytes": str(limit)})
        at_limit = Record(b"x" * (limit - BATCH_OVERHEAD))
        driver.produce(name, [at_limit])
        with pytest.raises(DriverError) as refused:
            driver.produce(name, [Record(b"x" * (limit - BATCH_OVERHEAD + 1))])
        assert refused.value.code == MESSAGE_TOO_LARGE
        assert contents(driver.consume(name, [0], 1), 0) == contents([at_limit], 0)

    def test_topics_are_created_grown_and_deleted(self, broker, driver, name):
        create_topic(driver, name, 2)
        eventually(lambda: name in driver.topics(), "the topic is listed")
        with pytest.raises(DriverError) as refused:
            driver.create_topic(name, 2, {})
        assert refused.value.code == TOPIC_ALREADY_EXISTS
        assert driver.partitions(name) == 2
        driver.add_partitions(name, 5)
        eventually(lambda: driver.partitions(name) == 5, "the topic has five partitions")
        driver.delete_topic(name)
        eventually(lambda: name not in driver.topics(), "the topic is gone")

    def test_topic_settings_are_read_and_changed(self, broker, driver, name):
        create_topic(driver, name, 1, {"retention.ms": "1234567"})
        assert driver.topic_config(name, "retention.ms") == "1234567"
        assert driver.topic_config(name, "cleanup.policy") == "delete"
        driver.set_topic_config(name, "segment.bytes", "1048576")
        eventually(lambda: driver.topic_config(name, "segment.bytes") == "1048576", "the setting is changed")

    def test_groups_are_listed_described_and_deleted(self, broker, driver, name):
        create_topic(driver, name, 1)
        member = driver.join(name, name)
        eventually(lambda: driver.assigned(member) == [0], "the member owns the partition")
        assert name in driver.groups()
        assert tuple(driver.group(name)) == ("Stable", 1)
        driver.commit(member, name, 0, 0)
        assert driver.committed(name, name, 0) == 0
        driver.leave(member)
        eventually(lambda: tuple(driver.group(name)) == ("Empty", 0), "the group is empty")
        if "delete_group" not in driver.cannot:
            driver.delete_group(name)
            assert name not in driver.groups()
