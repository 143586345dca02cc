"""The Go clients: franz-go, Sarama as clients of several releases of Kafka, and segmentio's kafka-go."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, ClassVar

import pytest

from contract import ClientContract, contents, create_topic, numbered
from drivers.base import DriverError, Record
from drivers.remote import HERE, Remote
from support.eventually import eventually
from support.places import CACHE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.broker_process import BrokerProcess

NOT_LEADER_OR_FOLLOWER = 6
FIRST_MS = 1_600_000_000_000


def test_the_drivers_are_formatted() -> None:
    gofmt = shutil.which("gofmt")
    if gofmt is None:
        pytest.skip("gofmt is not there: install Go")
    done = subprocess.run([gofmt, "-l", HERE / "go"], capture_output=True, text=True, check=True)
    assert done.stdout == ""


def ends(driver: Remote, topic: str, partition: int) -> list[int]:
    """Start and end of a partition; a real Kafka that has just created it may want to be asked again."""
    found: list[int] = []

    def answered() -> bool:
        try:
            found[:] = driver.offsets(topic, partition)
        except DriverError as refused:
            if refused.code != NOT_LEADER_OR_FOLLOWER:
                raise
            return False
        return True

    eventually(answered, "the partition has a leader")
    return found


def read_numbers(driver: Remote, topic: str, partitions: int, count: int) -> list[list[int]]:
    """Return the numbers in the records, by partition, once so many have arrived."""
    eventually(lambda: sum(ends(driver, topic, p)[1] for p in range(partitions)) >= count, "all are there")
    got = driver.consume(topic, list(range(partitions)), count)
    return [[int(r.value) for r in got if r.partition == p] for p in range(partitions)]


def assert_whole_and_in_order(numbers: list[list[int]], count: int) -> None:
    """All are there once, those of each partition in the order in which they were sent."""
    assert all(numbers)
    assert all(part == sorted(part) for part in numbers)
    assert sorted(n for part in numbers for n in part) == list(range(count))


class GoContract(ClientContract):
    """The contract of every client, and requests beyond it that all three Go clients have."""

    program: ClassVar[str]
    arguments: ClassVar[tuple[str, ...]] = ()
    no_such_time = -1
    """The offset that the client shows for a time that is after all four records."""

    @classmethod
    def open_driver(cls, bootstrap: str) -> Remote:
        program = CACHE / "go" / cls.program
        if not program.is_file():
            pytest.skip(f"{cls.program} is not there: install Go and run python interop-tests/fetch.py go")
        return Remote([program, bootstrap, *cls.arguments])

    def test_a_producer_with_nothing_configured(self, broker, driver, name):
        create_topic(driver, name, 3)
        driver.produce_by_default(name, 3000)
        assert_whole_and_in_order(read_numbers(driver, name, 3, 3000), 3000)

    def test_offsets_are_found_by_time(self, broker, driver, name):
        create_topic(driver, name, 1)
        driver.produce_at(name, [FIRST_MS, FIRST_MS + 20, FIRST_MS + 10, FIRST_MS + 30])
        found = [driver.offset_at(name, 0, FIRST_MS + ms) for ms in (-1, 0, 1, 15, 20, 30, 31)]
        assert found == [0, 0, 1, 1, 1, 3, self.no_such_time]

    def test_the_ends_of_a_partition(self, broker, driver, name):
        create_topic(driver, name, 2)
        assert ends(driver, name, 1) == [0, 0]
        driver.produce(name, numbered(12, 2))
        assert ends(driver, name, 1) == [0, 6]

    def test_the_cluster_has_one_broker_that_controls_it(self, broker, driver):
        cluster_id, controller, brokers = driver.cluster()
        assert brokers == [controller]
        assert cluster_id is None or len(cluster_id) == 22


class MoreAdministration:
    """Requests that kafka-go does not have."""

    def test_records_are_deleted_up_to_an_offset(self, broker, driver, name):
        create_topic(driver, name, 1)
        driver.produce(name, numbered(10))
        assert driver.delete_records(name, 0, 4) == 4
        assert ends(driver, name, 0) == [4, 10]

    def test_a_topic_has_a_size(self, broker, driver, name):
        create_topic(driver, name, 2)
        assert driver.log_size(name) == 0
        driver.produce(name, [Record(b"x" * 1000, None, (), p) for p in range(2)])
        assert 2000 < driver.log_size(name) < 2200


class Cooperative:
    """Rebalances of KIP-429, which kafka-go does not have."""

    def test_a_cooperative_rebalance_takes_only_what_moves(self, broker, driver, name):
        create_topic(driver, name, 4)
        driver.produce(name, numbered(40, 4))
        first = driver.join_cooperatively(name, name)
        eventually(lambda: len(driver.received(first)) == 40, "the first member has every record")
        second = driver.join_cooperatively(name, name)
        eventually(lambda: len(driver.assigned(second)) == 2, "the second member has its share")
        moved = driver.assigned(second)
        assert sorted(driver.revoked(first)) == moved
        assert sorted(driver.assigned(first) + moved) == [0, 1, 2, 3]
        driver.leave(second)
        eventually(lambda: driver.assigned(first) == [0, 1, 2, 3], "the first member owns them all again")
        assert sorted(driver.revoked(first)) == moved
        driver.leave(first)


class TestFranzGo(MoreAdministration, Cooperative, GoContract):
    program = "franz"
    no_such_time = 4

    def test_the_latest_time_is_found(self, broker, driver, name):
        create_topic(driver, name, 1)
        driver.produce_at(name, [FIRST_MS, FIRST_MS + 20, FIRST_MS + 10])
        assert driver.offset_of_max_timestamp(name, 0) == 1


class TestSarama(MoreAdministration, Cooperative, GoContract):
    """As a client of Kafka 2.8, its default."""

    program = "sarama"
    arguments = ("2.8.0",)

    def test_an_idempotent_producer(self, broker, driver, name):
        create_topic(driver, name, 3)
        driver.produce_idempotently(name, 3000)
        assert_whole_and_in_order(read_numbers(driver, name, 3, 3000), 3000)


class TestSarama36(TestSarama):
    arguments = ("3.6.0",)


class TestSaramaLatest(TestSarama):
    """As a client of the latest Kafka that it knows."""

    arguments = ("4.3.1",)


class OldSarama(GoContract):
    """The Go contract without requests that an old Kafka did not have."""

    program = "sarama"

    @classmethod
    def open_driver(cls, bootstrap: str) -> Remote:
        driver = super().open_driver(bootstrap)
        driver.cannot = {"delete_group": "Kafka 1.1 brought it"}
        return driver

    @pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4"])
    def test_produced_records_come_back_by_assignment(self, broker, driver, name, codec):
        super().test_produced_records_come_back_by_assignment(broker, driver, name, codec)


class TestSarama10(MoreAdministration, OldSarama):
    arguments = ("1.0.0",)
    test_an_idempotent_producer = TestSarama.test_an_idempotent_producer


class TestSarama010(OldSarama):
    """As a client of Kafka 0.10.2, which had no record batches: its messages are converted both ways."""

    arguments = ("0.10.2.0",)
    test_topics_are_created_grown_and_deleted = None
    test_topic_settings_are_read_and_changed = None

    def test_null_keys_and_values_and_headers(self, broker, driver, name):
        create_topic(driver, name, 1)
        sent = [Record(b"plain"), Record(b"keyed", b"k"), Record(None, b"tombstone"), Record(b"", b"")]
        driver.produce(name, sent)
        assert contents(driver.consume(name, [0], len(sent)), 0) == contents(sent, 0)

    def test_topics_are_created_and_deleted(self, broker, driver, name):
        create_topic(driver, name, 2)
        assert driver.partitions(name) == 2
        driver.delete_topic(name)
        eventually(lambda: name not in driver.topics(), "the topic is gone")


class TestKafkaGo(GoContract):
    program = "kafkago"

    @pytest.fixture(scope="class")
    @classmethod
    def reader(cls, session_broker: BrokerProcess) -> Iterator[Remote]:
        opened = TestFranzGo.open_driver(session_broker.bootstrap)
        yield opened
        opened.close()

    def test_a_producer_with_nothing_configured(self, broker, driver, name):
        """The producer wants no acknowledgements and uses several connections, so no order is promised."""
        create_topic(driver, name, 3)
        assert [ends(driver, name, p) for p in range(3)] == [[0, 0]] * 3
        driver.produce_by_default(name, 3000)
        numbers = read_numbers(driver, name, 3, 3000)
        assert all(numbers)
        assert sorted(n for part in numbers for n in part) == list(range(3000))

    def test_null_keys_and_values_and_headers(self, broker, driver, reader, name):
        """kafka-go reads what is empty as null, so another client looks at what it writes."""
        create_topic(driver, name, 1)
        headers = (("a", b"1"), ("a", b"2"), ("ünï", "ß".encode()), ("empty", b""), ("none", None))
        sent = [
            Record(b"keyed", b"k"),
            Record(None, b"tombstone"),
            Record(b"", b""),
            Record(b"v", None, headers),
        ]
        driver.produce(name, sent)
        assert contents(reader.consume(name, [0], len(sent)), 0) == contents(sent, 0)
        shown = [(r.key or None, r.value or None, tuple((n, v or None) for n, v in r.headers)) for r in sent]
        assert contents(driver.consume(name, [0], len(sent)), 0) == shown
