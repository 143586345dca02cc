"""Groups whose broker assigns (KIP-848) with franz-go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import test_go
from contract import create_topic, numbered
from drivers.base import Record
from kcompat.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from real_kafka import RealKafka
from support.eventually import eventually
from support.kcompat_broker import KcompatBroker
from support.raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from drivers.remote import Remote
    from support.broker_process import BrokerProcess

SETTINGS = {
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.min.session.timeout.ms": "3000",
    "group.consumer.session.timeout.ms": "3000",
}


@pytest.fixture(scope="module")
def session_broker(request: pytest.FixtureRequest) -> Iterator[BrokerProcess]:
    """The broker of this module; a real Kafka is one that has such groups."""
    is_ours = request.config.getoption("--target") == "kcompat"
    with KcompatBroker(SETTINGS) if is_ours else RealKafka("4.3.0", SETTINGS) as broker:
        yield broker


@pytest.fixture(scope="module")
def driver(session_broker: BrokerProcess) -> Iterator[Remote]:
    opened = test_go.TestFranzGo.open_driver(session_broker.bootstrap)
    yield opened
    opened.close()


@pytest.fixture
def other(session_broker: BrokerProcess) -> Iterator[Remote]:
    """A client in a process of its own, for a test that kills it."""
    opened = test_go.TestFranzGo.open_driver(session_broker.bootstrap)
    yield opened
    if opened.is_running:
        opened.close()


def described(broker: BrokerProcess, group: str) -> Any:
    """A group of KIP-848 as the broker describes it."""
    with RawClient(("127.0.0.1", broker.port)) as client:
        (found,) = client.call(ConsumerGroupDescribeRequest(group_ids=[group]), 0).groups
    return found


class TestTheBrokerAssigns:
    def test_members_come_and_go(self, session_broker, driver, name):
        create_topic(driver, name, 4)
        driver.produce(name, numbered(40, 4))
        first = driver.join_by_broker(name, name)
        eventually(lambda: len(driver.received(first)) == 40, "the first member has every record")
        second = driver.join_by_broker(name, name)
        eventually(lambda: len(driver.assigned(second)) == 2, "the second member has its share")
        group = described(session_broker, name)
        assert (group.group_state, group.assignor_name, len(group.members)) == ("Stable", "uniform", 2)
        moved = driver.assigned(second)
        assert sorted(driver.revoked(first)) == moved
        assert sorted(driver.assigned(first) + moved) == [0, 1, 2, 3]
        driver.leave(second)
        eventually(lambda: driver.assigned(first) == [0, 1, 2, 3], "the first member owns them all again")
        driver.leave(first)
        eventually(lambda: described(session_broker, name).group_state == "Empty", "nobody is left")

    def test_who_comes_later_goes_on_where_it_was_committed(self, session_broker, driver, name):
        create_topic(driver, name, 1)
        driver.produce(name, numbered(10))
        first = driver.join_by_broker(name, name)
        eventually(lambda: len(driver.received(first)) == 10, "the member has every record")
        driver.commit(first, name, 0, 7)
        driver.leave(first)
        second = driver.join_by_broker(name, name)
        eventually(lambda: len(driver.received(second)) == 3, "the next one has what was not committed")
        assert [record.offset for record in driver.received(second)] == [7, 8, 9]
        driver.leave(second)

    def test_records_written_while_members_come_and_go_arrive_once(self, driver, other, name):
        create_topic(driver, name, 4)
        sent: list[int] = []

        def write() -> None:
            new = range(len(sent), len(sent) + 40)
            driver.produce(name, [Record(b"%d" % number, None, (), number % 4) for number in new])
            sent.extend(new)

        def settled(member: str, count: int) -> None:
            eventually(lambda: len(driver.assigned(member)) == count, f"a member has {count} partitions")

        def values(records: list[Record]) -> list[int]:
            return [int(record.value) for record in records]

        write()
        first = driver.join_and_commit(name, name)
        settled(first, 4)
        write()
        second = driver.join_and_commit(name, name)
        write()
        settled(second, 2)
        lost = other.join_and_commit(name, name)
        write()
        eventually(lambda: len(other.assigned(lost)) == 1, "the third member has its share")
        write()
        assert driver.refused(first) == []
        got = values(driver.leave_having(first))
        write()
        settled(second, 2)
        write()
        its: set[int] = set()
        have: list[int] = []

        def all_are_there() -> bool:
            if other.is_running:
                its.update(values(other.received(lost)))
            have[:] = got + values(driver.received(second))
            return its | set(have) >= set(sent)

        # What the one to be killed may still commit has been seen here by now.
        eventually(all_are_there, "every record so far has been given to a member")
        assert its
        other.kill()
        write()
        settled(second, 4)
        eventually(all_are_there, "every record has been given to a member")
        assert len(have) == len(set(have)), "nothing is given twice but what the killed one had"
        assert driver.refused(second) == []
        driver.leave(second)

    def test_the_broker_finds_topics_by_a_pattern(self, session_broker, driver, name):
        for letter, partitions in (("a", 2), ("b", 3), ("c", 1)):
            create_topic(driver, f"{name}-{letter}", partitions)
            driver.produce(f"{name}-{letter}", numbered(10, partitions))
        first = driver.join_by_pattern(name, f"^{name}-[ab]$")
        eventually(lambda: len(driver.received(first)) == 20, "the records of two topics arrive")
        second = driver.join_by_pattern(name, f"^{name}-[ab]$")
        eventually(lambda: len(driver.assigned(second)) > 0, "the second member has its share")
        eventually(lambda: described(session_broker, name).group_state == "Stable", "the group is stable")
        group = described(session_broker, name)
        assert (group.assignor_name, len(group.members)) == ("range", 2)
        assert all(member.subscribed_topic_regex for member in group.members)
        driver.leave(second)
        driver.leave(first)
