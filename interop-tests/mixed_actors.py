"""The clients in a cluster of both kinds of brokers besides its plain producers, and a record of their
coordinators: processes that copy a topic in transactions, as members of one group, and readers of another
group, to which members come and from which they go.
"""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Self

from confluent_kafka import Consumer, KafkaException, TopicPartition
from msgspec import Struct

from accidents import PATIENCE_S
from copying import PARTITIONS, Source, copiers, is_settled, read_committed
from kcompat.coordinator.partitioning import partition_for
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from storming import Custody, Reached, Storm
from support.cluster_coordinators import OF_GROUPS, OF_TRANSACTIONS
from support.cluster_members import ClassicMember, Times
from support.cluster_readers import ReaderGroup
from support.eventually import Patience, eventually, limit_s

if TYPE_CHECKING:
    import random
    from pathlib import Path
    from types import TracebackType

    from broker_cluster import BrokerCluster

HALVES = 2
SETTINGS = {"transaction.state.log.num.partitions": str(HALVES)}
OFFSETS_PARTITIONS = 5
PER_TRANSACTION, ADDED = 50, 30
READERS = 4
CHANGES_EVERY_S = 0.7
KILLED_EVERY_S = 20.0
TIMES = Times(session_ms=6_000, rebalance_ms=6_000, answered_s=60, joined_s=90)
REPLICAS = 3
SERVES_S = 90
"""A copier that stalls when its broker was killed is replaced after some time."""
SERVED = 2
"""Number of finished operations after which at least one was begun after the first look."""
TICK_S = 0.1


class Duty(Struct, frozen=True):
    """A name of which some broker is the coordinator: a transactional id or a group."""

    kind: int
    name: str

    @property
    def topic(self) -> str:
        """Where its coordinator keeps it."""
        return "__transaction_state" if self.kind == OF_TRANSACTIONS else "__consumer_offsets"

    @property
    def partition(self) -> int:
        """Whose leader the coordinator is."""
        return partition_for(self.name, HALVES if self.kind == OF_TRANSACTIONS else OFFSETS_PARTITIONS)


IDS = [Duty(OF_TRANSACTIONS, f"copier-{number}") for number in range(HALVES)]
GROUPS = [Duty(OF_GROUPS, "copiers"), Duty(OF_GROUPS, "readers")]


def coordinator_of(cluster: BrokerCluster, duty: Duty) -> int:
    """Return the coordinator of a duty, as any broker knows it; -1 if it has none."""
    running = next(each for each, broker in cluster.brokers.items() if broker.is_running())
    with cluster.client(running) as client:
        answer = client.call(FindCoordinatorRequest(key=duty.name, key_type=duty.kind), 3)
    return -1 if answer.error_code else int(answer.node_id)


class Actors:
    """The copiers and the readers; `with` has them work."""

    def __init__(self, cluster: BrokerCluster, topic: str, partitions: int, home: Path) -> None:
        """The readers commit offsets of this topic."""
        self.served: set[tuple[Duty, int]] = set()
        """Duties that a broker served while it was known to be their coordinator."""
        self._cluster = cluster
        self._partitions = partitions
        self._source = Source(cluster.bootstrap, ["target"])
        self._copiers = copiers(cluster.bootstrap, home, len(IDS), PER_TRANSACTION)
        self._committed = [0] * PARTITIONS
        self._rises = 0
        addresses = {each: (broker.host, broker.port) for each, broker in cluster.brokers.items()}
        self._reached = Reached(addresses, always_name_a_broker=False)
        self._readers = ReaderGroup("readers", topic, Custody({}), TIMES)
        self._ending = threading.Event()
        self._tending = threading.Lock()
        self._threads = ThreadPoolExecutor(2)

    def __enter__(self) -> Self:
        self._tasks = [
            self._threads.submit(self._have_copied),
            self._threads.submit(lambda: asyncio.run(self._read())),
        ]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        self._threads.shutdown()
        self._copiers.close()

    def kill_one(self, choice: random.Random) -> None:
        """Kill a copier in the middle of what it does."""
        with self._tending:
            self._copiers.accident(choice)

    def be_coordinated_by(self, one: int, other: int) -> None:
        """Have each of these two brokers coordinate an id and a group, until each of them has served both."""
        wanted = dict(zip((*IDS, *GROUPS), (one, other) * 2, strict=True))
        ring = sorted(self._cluster.brokers)
        for duty, broker_id in wanted.items():
            at = ring.index(broker_id)
            self._cluster.reassign(duty.topic, duty.partition, (ring[at:] + ring[:at])[:REPLICAS])
        self._cluster.elect_preferred()
        eventually(
            lambda: all(coordinator_of(self._cluster, duty) == each for duty, each in wanted.items()),
            "the coordinators are where they are wanted",
            SERVES_S,
        )
        before = {duty: self._done(duty) for duty in wanted}

        def unserved() -> list[str]:
            self._raise_failures()
            return [duty.name for duty, done in before.items() if self._done(duty) < done + SERVED]

        eventually(
            lambda: not unserved(),
            lambda: f"{one} and {other} have served {unserved()}\n{self._copiers.errors()}",
            SERVES_S,
        )
        for duty, broker_id in wanted.items():
            assert coordinator_of(self._cluster, duty) == broker_id
            self.served.add((duty, broker_id))

    def settle(self) -> None:
        """Add nothing more, and see that in the end each record was copied once, in order."""
        self._ending.set()
        for task in self._tasks:
            task.result(limit_s(PATIENCE_S))
        assert read_committed(self._cluster.bootstrap, "target") == self._source.rows

    def find_the_same_on_all(self) -> None:
        """See that all replicas of what was copied, and of the coordinators of that, have the same bytes."""
        topics = {"source": PARTITIONS, "target": PARTITIONS, "__transaction_state": HALVES}
        for topic, count in topics.items():
            for index in range(count):
                copies = self._cluster.contents(topic, index)
                assert len(copies) == REPLICAS
                assert len(set(copies.values())) == 1, (topic, index, {at: len(copies[at]) for at in copies})

    def _raise_failures(self) -> None:
        for task in self._tasks:
            if task.done():
                task.result()

    def _done(self, duty: Duty) -> int:
        """A count that rises when something was done for it: transactions that a copier has committed,
        offsets of the copiers seen to rise, generations of the readers.
        """
        if duty in IDS:
            return len(self._copiers.said()[duty.name].splitlines())
        if duty.name == "copiers":
            return self._rises
        return len({generation for _, generation, _ in list(self._readers.ownership.owners)})

    def _have_copied(self) -> None:
        """Have something to copy, and copiers; at last all that there is."""
        consumer = Consumer({"bootstrap.servers": self._cluster.bootstrap, "group.id": "copiers"})
        try:
            while not self._ending.wait(TICK_S):
                self._source.add(ADDED)
                self._look(consumer)
            patience = Patience(PATIENCE_S)
            while sum(self._committed) < self._source.count or not self._is_settled():
                assert patience.lasts, f"{self._committed}: {self._copiers.errors()}"
                time.sleep(TICK_S)
                self._look(consumer)
        finally:
            consumer.close()

    def _is_settled(self) -> bool:
        return is_settled(self._cluster.bootstrap, "target")

    def _look(self, consumer: Consumer) -> None:
        """See that what is committed never goes back. Its coordinator may be away now."""
        with self._tending:
            self._copiers.tend()
        try:
            places = consumer.committed([TopicPartition("source", n) for n in range(PARTITIONS)], 5)
        except KafkaException:
            return
        found = [max(place.offset, 0) for place in places]
        for index, (earlier, later) in enumerate(zip(self._committed, found, strict=True)):
            assert later >= earlier, f"what is committed of {index} went back from {earlier} to {later}"
        self._rises += found != self._committed
        self._committed = found

    async def _read(self) -> None:
        """Come and go in the group of readers, and settle at last."""
        async with asyncio.TaskGroup() as tasks:
            storm = Storm(self._reached, self._readers, [ClassicMember], READERS, tasks)
            changing = [
                tasks.create_task(storm.come_and_go(CHANGES_EVERY_S)),
                tasks.create_task(storm.rage(KILLED_EVERY_S)),
            ]
            while not await asyncio.to_thread(self._ending.wait, TICK_S):
                pass
            for each in changing:
                each.cancel()
            await asyncio.wait(changing)
            await storm.settled(self._partitions)
            await storm.end()
