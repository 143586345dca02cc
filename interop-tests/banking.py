"""Accounts in a compacted topic, the processes that move money between them in transactions, and what readers
of committed records find there.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from msgspec import Struct, field

from accidents import PATIENCE_S, Programs
from support.eventually import Patience, limit_s

if TYPE_CHECKING:
    from collections.abc import Iterator

TOPIC = "accounts"
WRITERS = 8
ACCOUNTS = 50
BEGIN_WITH = 1000
BANKER = Path(__file__).with_name("drivers") / "banker.py"
CONFIG = {
    "cleanup.policy": "compact",
    "segment.bytes": "20000",
    "min.cleanable.dirty.ratio": "0.01",
}


def name_of(writer: int) -> str:
    """A writer's transactional id."""
    return f"banker-{writer}"


class Snapshot(Struct):
    """The knowledge of a reader of committed records: balances by account, the number of each writer's last
    transfer, and how many of its records were read.
    """

    balances: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)
    records: int = 0

    def read(self, account: str, value: str) -> None:
        """The next record."""
        balance, writer, number = value.split(",")
        self.balances[account] = int(balance)
        if int(number) > self.numbers.get(writer, -1):
            self.numbers[writer], self.seen[writer] = int(number), 0
        self.seen[writer] += 1
        self.records += 1

    @property
    def is_whole(self) -> bool:
        """Whether of each last transfer both records were seen. One may be read before the other, where
        somebody else's transaction is open between the two.
        """
        return len(self.balances) == ACCOUNTS and all(count >= 2 for count in self.seen.values())


class Bank:
    """The topic, in which every account has something to begin with."""

    total = BEGIN_WITH * ACCOUNTS

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        admin = AdminClient({"bootstrap.servers": bootstrap})
        admin.create_topics([NewTopic(TOPIC, 1, config=CONFIG)])[TOPIC].result(limit_s(PATIENCE_S))
        producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
        for number in range(ACCOUNTS):
            value = f"{BEGIN_WITH},{name_of(number % WRITERS)},0"
            producer.produce(TOPIC, value, f"account-{number}", partition=0)
        assert producer.flush(limit_s(PATIENCE_S)) == 0

    def snapshot(self) -> Snapshot:
        """Return the committed state, read at the end of the committed records. Before that a reader may
        know an old balance whose successor was compacted away, as a third one stands further on.
        """
        snapshot = Snapshot()
        for snapshot in self._at_ends():
            if snapshot.is_whole:
                break
        return snapshot

    def _at_ends(self) -> Iterator[Snapshot]:
        patience = Patience(PATIENCE_S)
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "auditor",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 10,
            }
        )
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        snapshot = Snapshot()
        try:
            while True:
                assert patience.lasts, f"no end, or never whole: {snapshot}"
                message = consumer.poll(1)
                if message is None:
                    continue
                if message.error() is None:
                    snapshot.read(message.key().decode(), message.value().decode())
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    yield snapshot
        finally:
            consumer.close()


class Bankers(Programs):
    """The processes that write."""

    def __init__(self, bootstrap: str, home: Path) -> None:
        commands = {}
        for writer in range(WRITERS):
            accounts = [f"account-{number}" for number in range(writer, ACCOUNTS, WRITERS)]
            arguments = [bootstrap, TOPIC, name_of(writer), *accounts]
            commands[name_of(writer)] = [sys.executable, str(BANKER), *arguments]
        super().__init__(commands, home)

    def known(self) -> dict[str, int]:
        """The number of each writer's last transfer that was committed for certain."""
        said = {name: lines.split() for name, lines in self.said().items()}
        return {name: int(numbers[-1]) if numbers else 0 for name, numbers in said.items()}

    def go_on(self, more: int) -> None:
        """Wait until each has made so many transfers more, and start again whoever has given up."""
        before, patience = self.known(), Patience(PATIENCE_S)
        while any(number < before[name] + more for name, number in self.known().items()):
            self.tend()
            assert patience.lasts, f"from {before} to {self.known()}\n{self.errors()}"
            time.sleep(0.1)
