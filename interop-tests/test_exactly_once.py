"""A topic copied in transactions by processes that are killed, over brokers that are killed.

`KCOMPAT_COPIED=100000` copies that many records instead of a few, `KCOMPAT_KILLS=10` kills as often.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, IsolationLevel, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from broker_cluster import BrokerCluster
from support.kcompat_broker import KcompatBroker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RECORDS = int(os.environ.get("KCOMPAT_COPIED", "6000"))
KILLS = int(os.environ.get("KCOMPAT_KILLS", "2"))
PER_TRANSACTION = 750 if RECORDS >= 50_000 else 100
PARTITIONS = 6
COPIERS = 3
PATIENCE_S = 300
COPIER = Path(__file__).with_name("drivers") / "copier.py"
SINGLE = {"transaction.state.log.num.partitions": "5", "offsets.topic.num.partitions": "5"}


class Brokers:
    """What is killed and started again."""

    def __init__(self, bootstrap: str, restarts: list[Callable[[], object]]) -> None:
        self.bootstrap = bootstrap
        self._restarts = restarts

    def accident(self, choice: random.Random) -> None:
        """Kill one and start it again."""
        choice.choice(self._restarts)()


@pytest.fixture(params=[1, 3])
def brokers(request: pytest.FixtureRequest) -> Iterator[Brokers]:
    """One broker, or three over a ZooKeeper."""
    with ExitStack() as running:
        if request.param == 1:
            broker = running.enter_context(KcompatBroker(SINGLE))

            def restart() -> None:
                broker.kill()
                broker.start()

            yield Brokers(broker.bootstrap, [restart])
            return
        cluster = running.enter_context(BrokerCluster(settings={"transaction.state.log.num.partitions": "5"}))

        def kill(broker_id: int) -> None:
            cluster.brokers[broker_id].kill()
            time.sleep(0.5)  # for others to lead what it led
            cluster.restart(broker_id)
            cluster.wait_until_in_sync(60)

        yield Brokers(cluster.bootstrap, [lambda each=each: kill(each) for each in cluster.brokers])


class Copiers:
    """The processes that copy; one that ends is started again."""

    def __init__(self, bootstrap: str, log: Path) -> None:
        self._bootstrap = bootstrap
        self._log = log
        self._processes = {f"copier-{number}": self._start(f"copier-{number}") for number in range(COPIERS)}

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        arguments = [self._bootstrap, "source", "target", "copiers", name, str(PER_TRANSACTION)]
        with self._log.open("ab") as log:
            return subprocess.Popen([sys.executable, COPIER, *arguments], stdout=log, stderr=log)

    def tend(self) -> None:
        """Start again whoever has given up."""
        for name, process in self._processes.items():
            if process.poll() is not None:
                self._processes[name] = self._start(name)

    def accident(self, choice: random.Random) -> None:
        """Kill one in the middle of what it does."""
        self._processes[choice.choice(sorted(self._processes))].kill()

    def close(self) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait()


class Source:
    """The topic that is copied, and what was written to each partition of it."""

    def __init__(self, bootstrap: str) -> None:
        admin = AdminClient({"bootstrap.servers": bootstrap})
        made = admin.create_topics([NewTopic(name, PARTITIONS) for name in ("source", "target")])
        for created in made.values():
            created.result(60)
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
        self.rows: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
        self.count = 0

    def add(self, count: int) -> None:
        """Write so many records more."""
        for number in range(self.count, self.count + count):
            value = b"%d" % number
            self.rows[number % PARTITIONS].append(value)
            self._producer.produce("source", value, partition=number % PARTITIONS)
            self._producer.poll(0)
        assert self._producer.flush(60) == 0
        self.count += count


def copied(bootstrap: str) -> int:
    """How far the group has come, all partitions together."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "copiers"})
    try:
        places = consumer.committed([TopicPartition("source", index) for index in range(PARTITIONS)], 30)
        return sum(max(place.offset, 0) for place in places)
    finally:
        consumer.close()


def is_settled(bootstrap: str) -> bool:
    """Whether no transaction is open in the target any more: what a copier left that was killed is aborted
    when its successor comes, and what was committed is read only once all before it has ended.
    """
    admin = AdminClient({"bootstrap.servers": bootstrap})
    asked = {TopicPartition("target", index): OffsetSpec.latest() for index in range(PARTITIONS)}
    try:
        stable, written = (
            [found.result().offset for found in admin.list_offsets(asked, isolation_level=level).values()]
            for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED)
        )
    except KafkaException:  # whoever leads is not found yet
        return False
    return stable == written


def read_committed(bootstrap: str) -> list[list[bytes]]:
    """The target, as a reader of committed records has it."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    rows: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
    consumer.assign([TopicPartition("target", index, 0) for index in range(PARTITIONS)])
    ended: set[int] = set()
    deadline = time.monotonic() + PATIENCE_S
    while len(ended) < PARTITIONS and time.monotonic() < deadline:
        for message in consumer.consume(1000, 1):
            if message.error() is None:
                rows[message.partition()].append(message.value())
                ended.discard(message.partition())
            else:
                ended.add(message.partition())
    consumer.close()
    return rows


@pytest.mark.timeout(2 * PATIENCE_S + 60)
def test_each_record_is_copied_once_and_in_order(brokers: Brokers, tmp_path: Path) -> None:
    choice = random.Random(7)
    source = Source(brokers.bootstrap)
    source.add(RECORDS)
    step = RECORDS // (2 * KILLS + 1)
    copiers = Copiers(brokers.bootstrap, tmp_path / "copiers.log")
    accidents = [copiers.accident, brokers.accident] * KILLS
    so_far, next_at = 0, step
    try:
        deadline = time.monotonic() + PATIENCE_S
        while so_far < source.count or accidents or not is_settled(brokers.bootstrap):
            said = (tmp_path / "copiers.log").read_text()[-4000:]
            assert time.monotonic() < deadline, f"{so_far} of {source.count} are copied\n{said}"
            if accidents and so_far >= next_at:
                accidents.pop()(choice)
                next_at = so_far + step
            if accidents and source.count - so_far < 2 * step:
                source.add(2 * step)  # they are quicker than the accidents
            copiers.tend()
            time.sleep(0.1)
            so_far = copied(brokers.bootstrap)
    finally:
        copiers.close()
    assert read_committed(brokers.bootstrap) == source.rows
