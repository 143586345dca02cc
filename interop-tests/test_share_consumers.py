"""Share groups (KIP-932) with consumers that say what becomes of each record: franz-go's and Java's."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

import test_go
from commands import compile_java
from contract import create_topic
from drivers.base import DriverError, Record
from drivers.remote import Remote
from kcompat.protocol.errors import ErrorCode
from real_kafka import RealKafka
from support.eventually import eventually
from support.kafka_jars import class_path, jvm
from support.kcompat_broker import KcompatBroker
from support.places import REPOSITORY
from tool_bench import insist_on_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from support.broker_process import BrokerProcess

VERSION = "4.3.0"
SHARER = REPOSITORY / "interop-tests" / "java" / "sharer" / "Sharer.java"
NO_LONGER_HELD = (
    ErrorCode.SHARE_SESSION_NOT_FOUND,
    ErrorCode.INVALID_SHARE_SESSION_EPOCH,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_SERVER_ERROR,
)
"""Errors of clients about records that they got from a broker that was killed; the last two are Java's."""
TOO_LATE = re.compile("InvalidRecordState|INVALID_RECORD_STATE")
SHORT_LOCK_MS = 2000
LOCK_MS = 6000
SETTINGS = {
    "group.share.min.heartbeat.interval.ms": "200",
    "group.share.heartbeat.interval.ms": "200",
    "group.share.min.session.timeout.ms": "5000",
    "group.share.session.timeout.ms": "5000",
    "group.share.min.record.lock.duration.ms": "1000",
}


@pytest.fixture(scope="module")
def session_broker(request: pytest.FixtureRequest) -> Iterator[BrokerProcess]:
    """The broker of this module; a real Kafka is one that has share groups."""
    is_ours = request.config.getoption("--target") == "kcompat"
    with KcompatBroker(SETTINGS) if is_ours else RealKafka(VERSION, SETTINGS) as broker:
        yield broker


def franz(broker: BrokerProcess) -> Remote:
    """A franz-go client in a process of its own."""
    return test_go.TestFranzGo.open_driver(broker.bootstrap)


@pytest.fixture(scope="module")
def maker(session_broker: BrokerProcess) -> Iterator[Remote]:
    """Open a client that creates topics, records and settings."""
    opened = franz(session_broker)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Callable[[BrokerProcess], Remote]:
    """Opens a Java client in a process of its own."""
    insist_on_tools()
    made = tmp_path_factory.mktemp("sharer")
    compile_java(class_path(VERSION), made, SHARER)
    return lambda broker: Remote([*jvm(VERSION, made), "Sharer", broker.bootstrap])


FRANZ = pytest.param("franz-go", marks=pytest.mark.thorough("the Java client shares in the same ways"))


@pytest.fixture(scope="module", params=[FRANZ, "java"])
def opener(request: pytest.FixtureRequest) -> Callable[[BrokerProcess], Remote]:
    """Opens a client of each kind."""
    return franz if request.param == "franz-go" else request.getfixturevalue("java")


@pytest.fixture(scope="module")
def driver(opener: Callable[[BrokerProcess], Remote], session_broker: BrokerProcess) -> Iterator[Remote]:
    opened = opener(session_broker)
    yield opened
    opened.close()


@pytest.fixture
def other(opener: Callable[[BrokerProcess], Remote], session_broker: BrokerProcess) -> Iterator[Remote]:
    """A client that a test may kill."""
    opened = opener(session_broker)
    yield opened
    if opened.is_running:
        opened.close()


@pytest.fixture
def shared(maker, name):
    """A topic of one partition with six records, each a batch of its own, to be shared from the first."""
    create_topic(maker, name, 1)
    for number in range(6):
        maker.produce(name, [Record(b"%d" % number)])
    maker.set_group_config(name, "share.auto.offset.reset", "earliest")
    return name


def taken(driver: Remote, member: str, count: int) -> dict[int, int]:
    """How often each of the records that come next has been delivered, by offset.

    The client may have asked for others before its poll returned: they are the next to come.
    """
    found: list[dict[str, Any]] = []

    def has_come() -> bool:
        found[:] = driver.take(member, 2000)
        return bool(found)

    eventually(has_come, "there is something to take")
    assert len(found) == count
    return {row["offset"]: row["deliveries"] for row in found}


def deliveries(driver: Remote, member: str, given: dict[int, str], count: int) -> list[tuple[int, int]]:
    """The offsets of so many deliveries with their numbers, in order of both. Each record is answered as is
    given, or accepted, and nobody waits for that: what is to come next may be under way already.
    """
    found: list[tuple[int, int]] = []

    def have_come() -> bool:
        for row in driver.take(member, 500):
            driver.answer_later(member, 0, row["offset"], given.get(row["offset"], "accept"))
            found.append((row["offset"], row["deliveries"]))
        return len(found) >= count

    eventually(have_come, f"there are {count} deliveries")
    assert driver.take(member, 500) == []
    return sorted(found)


def test_each_answer_does_what_it_says(maker, driver, shared):
    member = driver.join_shared(shared, shared)
    assert taken(driver, member, 3) == {0: 1, 1: 1, 2: 1}
    driver.answer(member, 0, 0, "accept")
    driver.answer(member, 0, 1, "release")
    driver.answer(member, 0, 2, "reject")
    assert deliveries(driver, member, {}, 4) == [(1, 2), (3, 1), (4, 1), (5, 1)]
    maker.produce(shared, [Record(b"6")])
    assert taken(driver, member, 1) == {6: 1}
    driver.answer(member, 0, 6, "release")
    assert taken(driver, member, 1) == {6: 2}
    driver.answer(member, 0, 6, "accept")
    assert driver.take(member, 500) == []
    driver.leave_shared(member)


def test_who_does_not_wait_for_an_answer_hears_of_it(driver, shared):
    member = driver.join_shared(shared, shared)
    assert taken(driver, member, 3) == {0: 1, 1: 1, 2: 1}
    for offset, verdict in enumerate(("accept", "release", "reject")):
        driver.answer_later(member, 0, offset, verdict)
    assert deliveries(driver, member, {}, 4) == [(1, 2), (3, 1), (4, 1), (5, 1)]
    assert driver.told(member)
    assert set(driver.told(member)) == {""}
    driver.leave_shared(member)


def test_a_record_is_given_up_after_so_many_deliveries(maker, driver, shared):
    maker.set_group_config(shared, "share.delivery.count.limit", "3")
    member = driver.join_shared(shared, shared)
    found = deliveries(driver, member, {1: "release", 4: "release"}, 10)
    assert found == [(0, 1), (1, 1), (1, 2), (1, 3), (2, 1), (3, 1), (4, 1), (4, 2), (4, 3), (5, 1)]
    driver.leave_shared(member)


def test_what_was_aborted_is_not_shared_where_only_the_committed_is(session_broker, maker, driver, name):
    create_topic(maker, name, 1)
    for key, value in (("share.auto.offset.reset", "earliest"), ("share.isolation.level", "read_committed")):
        maker.set_group_config(name, key, value)
    producer = Producer({"bootstrap.servers": session_broker.bootstrap, "transactional.id": name})
    producer.init_transactions(30)
    for value, is_kept in ((b"0", True), (b"2", False), (b"4", True)):
        producer.begin_transaction()
        producer.produce(name, value, partition=0)
        producer.flush(30)
        (producer.commit_transaction if is_kept else producer.abort_transaction)(30)
    member = driver.join_shared(name, name)
    got: list[str] = []

    def both_are_there() -> bool:
        rows = driver.take(member, 2000)
        for row in rows:
            driver.answer(member, 0, row["offset"], "accept")
        got.extend(row["value"] for row in rows)
        return len(got) >= 2

    eventually(both_are_there, "what was committed is given to the member")
    assert driver.take(member, 500) == []
    assert got == ["0", "4"]
    driver.leave_shared(member)


def last_taken(driver: Remote, member: str) -> dict[int, int]:
    """The last three of six records, as `taken` tells of them; the others are accepted. The client can have
    asked for no others.
    """
    for offset in taken(driver, member, 3):
        driver.answer(member, 0, offset, "accept")
    return taken(driver, member, 3)


@pytest.mark.thorough("test_each_record_is_accepted_once_while_members_come_and_go")
def test_two_members_share_one_partition(maker, driver, other, shared):
    first, second = driver.join_shared(shared, shared), other.join_shared(shared, shared)
    held = last_taken(driver, first)
    for number in range(6, 12):
        maker.produce(shared, [Record(b"%d" % number)])
    had = taken(other, second, 3)
    for offset in had:
        other.answer(second, 0, offset, "accept")
    driver.leave_shared(first)  # which gives its records back
    rest = dict(deliveries(other, second, {}, 6))
    assert {offset: rest[offset] for offset in held} == dict.fromkeys(held, 2)
    assert sorted({*had, *rest}) == list(range(3, 12))
    other.leave_shared(second)


def test_what_a_killed_member_held_goes_to_another(driver, other, shared):
    lost = other.join_shared(shared, shared)
    assert taken(other, lost, 3) == {0: 1, 1: 1, 2: 1}
    other.kill()
    member = driver.join_shared(shared, shared)
    assert taken(driver, member, 3) == {0: 2, 1: 2, 2: 2}
    driver.leave_shared(member)


def test_what_is_held_too_long_goes_to_another(maker, driver, other, shared):
    maker.set_group_config(shared, "share.record.lock.duration.ms", str(SHORT_LOCK_MS))
    slow, waiting = driver.join_shared(shared, shared), other.join_shared(shared, shared)
    held = last_taken(driver, slow)
    assert taken(other, waiting, 3) == dict.fromkeys(held, 2)
    other.leave_shared(waiting)
    driver.leave_shared(slow)


@pytest.mark.thorough("test_what_is_held_too_long_goes_to_another")
def test_an_answer_that_comes_too_late_is_refused(maker, driver, other, shared):
    maker.set_group_config(shared, "share.record.lock.duration.ms", str(SHORT_LOCK_MS))
    slow, waiting = driver.join_shared(shared, shared), other.join_shared(shared, shared)
    held = last_taken(driver, slow)
    assert taken(other, waiting, 3) == dict.fromkeys(held, 2)
    for offset in held:
        driver.answer_later(slow, 0, offset, "reject")
    driver.take(slow, 500)
    eventually(lambda: len(driver.told(slow)) > 3, "it is told what became of its answers")
    said = driver.told(slow)
    assert said[:3] == ["", "", ""]
    assert all(map(TOO_LATE.search, said[3:])), said
    driver.leave_shared(slow)
    for offset in held:
        other.answer_later(waiting, 0, offset, "release")
    assert taken(other, waiting, 3) == dict.fromkeys(held, 3)
    other.leave_shared(waiting)


@pytest.mark.thorough("the differential test renews locks")
def test_what_is_renewed_is_held_on(maker, driver, other, shared):
    maker.set_group_config(shared, "share.record.lock.duration.ms", str(LOCK_MS))
    slow, waiting = driver.join_shared(shared, shared), other.join_shared(shared, shared)
    held = list(last_taken(driver, slow))
    for offset in held[1:]:
        driver.answer(slow, 0, offset, "accept")
    ends = time.monotonic() + 1.25 * LOCK_MS / 1000
    while time.monotonic() < ends:
        driver.answer(slow, 0, held[0], "renew")
        assert other.take(waiting, LOCK_MS // 10) == []
    driver.answer(slow, 0, held[0], "accept")
    driver.leave_shared(slow)
    maker.produce(shared, [Record(b"6")])
    assert taken(other, waiting, 1) == {6: 1}
    other.leave_shared(waiting)


class Accepting:
    """The records that members of one group have accepted with the broker's confirmation."""

    def __init__(self, refusals: Sequence[ErrorCode] = ()) -> None:
        """Where the broker says one of `refusals`, the record is among `refused`, and comes again."""
        self.values: list[int] = []
        self.refused: list[int] = []
        self._refusals = refusals

    def _accept(self, client: Remote, member: str, row: dict[str, Any]) -> None:
        try:
            client.answer(member, row["partition"], row["offset"], "accept")
        except DriverError as refused:
            if refused.code not in self._refusals:
                raise
            self.refused.append(int(row["value"]))
        else:
            self.values.append(int(row["value"]))

    def let(self, workers: Sequence[tuple[Remote, str]], count: int) -> None:
        """Have these members take and accept until there is so much of it."""

        def is_there() -> bool:
            for client, member in workers:
                for row in client.take(member, 100):
                    self._accept(client, member, row)
            return len(self.values) >= count

        eventually(is_there, f"{count} records are accepted")


def test_each_record_is_accepted_once_while_members_come_and_go(maker, driver, other, name):
    def produce(numbers: range) -> None:
        maker.produce(name, [Record(b"%d" % number, None, (), number % 3) for number in numbers])

    create_topic(maker, name, 3)
    maker.set_group_config(name, "share.auto.offset.reset", "earliest")
    produce(range(90))
    accepted = Accepting()
    first, second = driver.join_shared(name, name), other.join_shared(name, name)
    accepted.let([(driver, first), (other, second)], 20)
    third = driver.join_shared(name, name)
    accepted.let([(driver, first), (other, second), (driver, third)], 40)
    driver.leave_shared(first)
    accepted.let([(other, second), (driver, third)], 50)
    produce(range(90, 120))  # it may have a single partition, of which it has accepted all
    eventually(lambda: bool(other.take(second, 2000)), "it has something that it does not answer")
    other.kill()
    produce(range(120, 150))
    accepted.let([(driver, third)], 150)
    assert driver.take(third, 500) == []
    assert sorted(accepted.values) == list(range(150))
    driver.leave_shared(third)


def test_what_was_accepted_stays_so_though_the_broker_is_killed(session_broker, driver, shared):
    member = driver.join_shared(shared, shared)
    held = taken(driver, member, 3)
    for offset, verdict in zip(held, ("accept", "reject", "release"), strict=True):
        driver.answer(member, 0, offset, verdict)
    session_broker.kill()
    session_broker.start()
    accepted = Accepting(NO_LONGER_HELD)
    accepted.let([(driver, member)], 4)
    assert sorted(accepted.values) == [2, 3, 4, 5]
    assert len(accepted.refused) <= 3  # a batch of the killed broker
    driver.leave_shared(member)
