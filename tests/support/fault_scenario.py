"""A broker under load, with an exception at one of its places; and what it is like after that."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from kcompat.topics import CONSUMER_OFFSETS
from support.disk import Disk
from support.fault_clients import OFFSETS_PARTITIONS, SMALL, Clients, Ledger, Partition, offsets_partition
from support.injected_faults import (
    FaultyClock,
    FaultyFiles,
    FaultyRandom,
    FaultyStore,
    FaultyWorker,
    Injector,
    faulty_dispatcher,
    follow,
)
from support.lone_broker import BrokerFixture, ListedTransactions

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.clock import Clock
    from kcompat.config.broker import BrokerConfig
    from kcompat.node.environment import Environment
    from kcompat.worker import Worker
    from support.disk import DiskOperation

SETTINGS = {
    "offsets.topic.num.partitions": str(OFFSETS_PARTITIONS),
    "group.initial.rebalance.delay.ms": "50",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.segment.delete.delay.ms": "1000",
    "num.partitions": "2",
}
START_MS = 1_700_000_000_000
TOPICS = {
    "orders": (4, SMALL),
    "synced": (2, {**SMALL, "flush.messages": "1"}),
    "keyed": (2, {**SMALL, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}),
    "retained": (2, {**SMALL, "retention.bytes": "500"}),
}
KEPT = ("orders", "synced")
"""Topics of which every acknowledged record must stay."""


def group_in(index: int) -> str:
    """A group that lives in this partition of the offsets topic and that no client of the load is in."""
    return next(name for n in range(99) if offsets_partition(name := f"later-{n}")[1] == index)


class Trial:
    """One broker under load, with an exception at one of its places; and what it is like after that."""

    def __init__(self, home: Path, at: int | None = None) -> None:
        self.injector = Injector(at)
        self.ledger = Ledger()
        self._operations: list[DiskOperation] = []
        self._directories = [home / "a", home / "b"]
        self.fixture = self._broker(self.injector)
        self.clients: Clients

    def _broker(self, injector: Injector, now_ms: int = START_MS) -> BrokerFixture:
        disk = Disk(self._operations)

        def wrap(environment: Environment) -> Environment:
            chance = FaultyRandom(1)
            chance.injector = injector

            def open_store(_config: BrokerConfig, clock: Clock) -> FaultyStore:
                store = FaultyStore(ListedTransactions(disk, self._operations), clock.now_ms)
                store.injector = injector
                return store

            def start_worker(name: str, threads: int) -> Worker:
                return FaultyWorker(environment.start_worker(name, threads), injector)

            return replace(
                environment,
                clock=FaultyClock(cast("Any", environment.clock), injector),
                random=chance,
                open_store=open_store,
                start_worker=start_worker,
            )

        return BrokerFixture(
            self._directories[0],
            {**SETTINGS, "log.dirs": ",".join(map(str, self._directories))},
            disk,
            self._operations,
            now_ms,
            files=FaultyFiles(injector),
            wrap=wrap,
        )

    async def run(self) -> None:
        """Prepare, put the load on, and let the housekeeping come by, with the exception in one of it."""
        await self.fixture.start()
        parts = self.fixture.node.parts
        dispatcher = faulty_dispatcher(parts, self.injector)
        self.clients = clients = Clients(self.fixture, dispatcher, self.injector, self.ledger)
        await clients.run(self._prepare())
        follow(parts, self.injector, TOPICS)
        self.injector.is_armed = True
        await clients.run(
            *(clients.tail(("orders", index), 6) for index in range(2, 4)),
            *(clients.produce_some("orders", index, 6) for index in range(4)),
            *(clients.produce_some("synced", index, 3) for index in range(2)),
            *(clients.produce_some("keyed", index, 8) for index in range(2)),
            *(clients.produce_some("retained", index, 8) for index in range(2)),
            clients.consume("workers", "orders", 0, 4),
            clients.consume("workers", "orders", 1, 4, delay_ms=20),
            clients.consume("lonely", "orders", 2, 4),
            clients.administrate(),
        )
        for _ in range(8):
            self.fixture.clock.advance(60_000)
            await asyncio.sleep(0)
        self.injector.is_armed = False

    async def _prepare(self) -> None:
        for name, (partitions, configs) in TOPICS.items():
            await self.clients.create_topic(name, partitions, dict(configs))
        await self.clients.find_coordinators()
        await self.clients.pause(500)

    def offline(self) -> set[Partition]:
        """The partitions of log directories that a bad disk took with it."""
        return {
            (log.topic, log.partition)
            for directory in self.fixture.logs.directories
            if directory.offline is not None
            for log in directory.logs
        }

    async def serve_on(self, offline: set[Partition]) -> Ledger:
        """Send requests of every kind, without faults now; return the failures of online partitions."""
        after = Ledger()
        clients = Clients(self.fixture, self.fixture.node.parts.dispatcher, self.injector, after)

        async def some_of_everything() -> None:
            for topic, (partitions, _) in TOPICS.items():
                for partition in ((topic, index) for index in range(partitions)):
                    if partition not in offline:
                        await clients.produce(partition, b"after", b"key")
                        await clients.fetch(partition, max(after.records[partition]))
            for index in range(OFFSETS_PARTITIONS):
                if (CONSUMER_OFFSETS, index) not in offline:
                    await clients.consume(group_in(index), "orders", 0, 1)
            await clients.create_topic("after")
            await clients.produce(("after", 0), b"after")
            await clients.produce(("after", 1), b"after")
            await clients.look()

        await clients.run(some_of_everything())
        return after

    async def revive(self) -> Clients:
        """The clients of another broker, with good disks, on what a kill of this one leaves."""
        self.fixture.kill()
        injector = Injector()
        fixture = self.fixture = self._broker(injector, self.fixture.clock.now_ms())
        await fixture.start()
        return Clients(fixture, fixture.node.parts.dispatcher, injector, Ledger())

    def timers(self) -> set[str]:
        """Names of the timers that wait."""
        return self.fixture.clock.pending_names()
