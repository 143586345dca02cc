"""A topic that is copied in transactions, and what readers of committed records find of the copy."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from accidents import PATIENCE_S, Programs
from support.eventually import Patience, limit_s

if TYPE_CHECKING:
    from collections.abc import Sequence

PARTITIONS = 6
COPIER = Path(__file__).with_name("drivers") / "copier.py"


def copiers(bootstrap: str, home: Path, count: int, per_transaction: int) -> Programs:
    """So many processes that copy, each with at most so many records in a transaction. Each prints a line for
    every transaction that it has committed for certain.
    """
    commands = {}
    for name in (f"copier-{number}" for number in range(count)):
        arguments = [bootstrap, "source", "target", "copiers", name, str(per_transaction)]
        commands[name] = [sys.executable, str(COPIER), *arguments]
    return Programs(commands, home)


class Source:
    """The topic that is copied, and what was written to each partition of it."""

    def __init__(self, bootstrap: str, targets: Sequence[str]) -> None:
        admin = AdminClient({"bootstrap.servers": bootstrap})
        made = admin.create_topics([NewTopic(name, PARTITIONS) for name in ("source", *targets)])
        for created in made.values():
            created.result(limit_s(PATIENCE_S))
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
        assert self._producer.flush(limit_s(PATIENCE_S)) == 0
        self.count += count


def copied(bootstrap: str, group: str) -> int:
    """How far the group has come, all partitions together. While its coordinator is the broker that was just
    killed, or does not know yet that it is one, it is asked again.
    """
    asked = [TopicPartition("source", index) for index in range(PARTITIONS)]
    patience = Patience(PATIENCE_S)
    while True:
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
        try:
            return sum(max(place.offset, 0) for place in consumer.committed(asked, 30))
        except KafkaException:
            if not patience.lasts:
                raise
            time.sleep(0.1)
        finally:
            consumer.close()


def is_settled(bootstrap: str, target: str) -> bool:
    """Whether no transaction is open in the target any more: what a copier left that was killed is aborted
    when its successor comes, and what was committed is read only once all before it has ended.
    """
    admin = AdminClient({"bootstrap.servers": bootstrap})
    asked = {TopicPartition(target, index): OffsetSpec.latest() for index in range(PARTITIONS)}
    try:
        stable, written = (
            [found.result().offset for found in admin.list_offsets(asked, isolation_level=level).values()]
            for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED)
        )
    except KafkaException:  # whoever leads is not found yet
        return False
    return stable == written


def read_committed(bootstrap: str, target: str) -> list[list[bytes]]:
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
    consumer.assign([TopicPartition(target, index, 0) for index in range(PARTITIONS)])
    ended: set[int] = set()
    patience = Patience(PATIENCE_S)
    while len(ended) < PARTITIONS and patience.lasts:
        for message in consumer.consume(1000, 1):
            if message.error() is None:
                rows[message.partition()].append(message.value())
                ended.discard(message.partition())
            elif message.error().code() == KafkaError._PARTITION_EOF:
                ended.add(message.partition())
    consumer.close()
    return rows
