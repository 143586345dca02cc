"""Members of one group copy a topic in transactions while others join and leave it, and some are killed.

They are clients of several kinds. In one story the broker assigns (KIP-848) to all of them; in the other a
classic group becomes one of KIP-848 and a classic one again. Each record is copied once, those of a partition
in order: what a member has read it may commit only as long as the partition is its own.

Java's client of 3.9 is there as a classic member only. As one of KIP-848 it may forget what is committed of a
partition that it is given while it asks for the offsets of others, and begin at the partition's start
(KAFKA-17674, mended in 4.0).
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import ConsumerGroupState, ConsumerGroupType, KafkaException
from confluent_kafka.admin import AdminClient

from copiers import BY_BROKER, CLASSIC, PER_TRANSACTION, Copier, confluent, go, has_java, java
from copying import PARTITIONS, Source, copied, is_settled, read_committed
from real_kafka import RealKafka
from support.eventually import Patience
from support.kcompat_broker import KcompatBroker

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from support.broker_process import BrokerProcess

GROUP = "copiers"
STEP = 600
PATIENCE_S = 90
SETTINGS = {
    "transaction.state.log.num.partitions": "5",
    "offsets.topic.num.partitions": "5",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.heartbeat.interval.ms": "300",
    "group.consumer.min.heartbeat.interval.ms": "300",
    "group.consumer.migration.policy": "bidirectional",
    "group.initial.rebalance.delay.ms": "0",
}


@pytest.fixture
def broker(request: pytest.FixtureRequest) -> Iterator[BrokerProcess]:
    """A broker of this test; a real Kafka is one that has such groups."""
    is_ours = request.config.getoption("--target") == "kcompat"
    with KcompatBroker(SETTINGS) if is_ours else RealKafka("4.3.0", SETTINGS) as broker:
        yield broker


class Copying:
    """The members, and the topic that they copy."""

    def __init__(self, broker: BrokerProcess, home: Path) -> None:
        self._broker = broker
        self._home = home
        self._admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        self._members: list[Copier] = []
        self._source = Source(broker.bootstrap, ["target"])

    def join(self, kind: str, command: Sequence[str], settings: Sequence[str]) -> Copier:
        """Start one more, and wait until it has a share of the partitions."""
        log = self._home / f"{kind}.log"
        member = Copier(kind, command, settings, self._broker.bootstrap, "target", GROUP, log)
        self._members.append(member)
        self._go_on_until_all_have_a_share()
        return member

    def leave(self, member: Copier) -> None:
        """Have one leave the group."""
        member.leave()
        self._members.remove(member)
        self._go_on_until_all_have_a_share()

    def kill(self, member: Copier) -> None:
        """Kill one in the middle of what it does; it is started again."""
        before = self._done()
        self._source.add(STEP)
        self._await(lambda: self._done() >= before + PER_TRANSACTION, "records are copied")
        member.kill()
        self._go_on_until_all_have_a_share()

    def kind(self) -> ConsumerGroupType:
        """Type of the group that the members share."""
        return self._described().type

    def has_copied_all_once(self) -> None:
        """Wait for what is still to be copied; it has to be the same."""
        self._await(lambda: self._done() == self._source.count, "all is copied")
        self._await(lambda: is_settled(self._broker.bootstrap, "target"), "no transaction is open")
        for index, rows in enumerate(read_committed(self._broker.bootstrap, "target")):
            wanted = self._source.rows[index]
            twice = [value for value, times in Counter(rows).items() if times > 1]
            missing = [value for value in wanted if value not in set(rows)]
            assert (twice, missing) == ([], []), index
            assert rows == wanted, index

    def end(self) -> None:
        """Kill all members of the group."""
        for member in self._members:
            member.kill()

    def _go_on_until_all_have_a_share(self) -> None:
        """And records were copied in between."""
        before = self._done()
        self._source.add(STEP)
        self._await(self._all_have_a_share, "each member has a share of the partitions")
        self._await(lambda: self._done() > before, "records are copied")

    def _all_have_a_share(self) -> bool:
        try:
            group = self._described()
        except KafkaException:  # it is not there yet
            return False
        shares = [len(each.assignment.topic_partitions) for each in group.members]
        is_stable = group.state == ConsumerGroupState.STABLE
        return is_stable and len(shares) == len(self._members) and all(shares) and sum(shares) == PARTITIONS

    def _described(self):
        return self._admin.describe_consumer_groups([GROUP])[GROUP].result(PATIENCE_S)

    def _done(self) -> int:
        return copied(self._broker.bootstrap, GROUP)

    def _await(self, condition, what: str) -> None:
        patience = Patience(PATIENCE_S)
        while not condition():
            for member in self._members:
                member.tend()
            said = "\n".join(f"{each.kind}: {each.said()}" for each in self._members)
            assert patience.lasts, f"in vain waited until {what}\n{said}"
            time.sleep(0.05)


@pytest.fixture
def copying(broker: BrokerProcess, tmp_path: Path) -> Iterator[Copying]:
    if not has_java():
        pytest.skip("install a Java 17 JDK and run python interop-tests/fetch.py jars")
    copying = Copying(broker, tmp_path)
    yield copying
    copying.end()


@pytest.mark.thorough("test_transactional_clients.py has members of KIP-848 groups")
@pytest.mark.timeout(4 * PATIENCE_S)
def test_members_to_whom_the_broker_assigns(copying: Copying, tmp_path: Path) -> None:
    first = copying.join("confluent", confluent(), BY_BROKER)
    second = copying.join("java-4.3", java(tmp_path, "4.3.0"), BY_BROKER)
    third = copying.join("franz", go("copyfranz"), BY_BROKER)
    assert copying.kind() == ConsumerGroupType.CONSUMER
    copying.leave(first)
    copying.join("another-java-4.3", java(tmp_path, "4.3.0"), BY_BROKER)
    copying.kill(second)
    copying.leave(third)
    last = copying.join("confluent", confluent(), BY_BROKER)
    copying.kill(last)
    copying.has_copied_all_once()


@pytest.mark.thorough("test_java.py has a group that goes over and back")
@pytest.mark.timeout(4 * PATIENCE_S)
def test_a_group_that_goes_over_and_back(copying: Copying, tmp_path: Path) -> None:
    first = copying.join("confluent", confluent(), [])
    second = copying.join("java-3.9", java(tmp_path, "3.9.2"), CLASSIC)
    assert copying.kind() == ConsumerGroupType.CLASSIC
    third = copying.join("franz-848", go("copyfranz"), BY_BROKER)
    assert copying.kind() == ConsumerGroupType.CONSUMER
    copying.kill(second)
    fourth = copying.join("java-4.3-848", java(tmp_path, "4.3.0"), BY_BROKER)
    copying.leave(first)
    copying.leave(third)
    copying.kill(fourth)
    copying.leave(fourth)
    assert copying.kind() == ConsumerGroupType.CLASSIC
    copying.has_copied_all_once()
