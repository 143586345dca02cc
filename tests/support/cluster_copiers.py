"""Consumers that copy a topic of a simulated cluster in transactions which hold their offsets too, consumers
that commit offsets only, and what both must have done in the end.

However they and the brokers end in the middle of it: each partition of the copy has the records of the
original below the offset that the group has committed, once each and in order.
"""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING, Any, Final

from support.cluster_admin import MOST_PARTITIONS
from support.cluster_clients import Consumer
from support.cluster_coordinators import CoordinatorClient
from support.cluster_members import ClassicMember, ConsumerMember, Member, Ownership, StreamsMember
from support.cluster_readers import Reader, ReaderGroup
from support.cluster_sharers import SHARERS, Shared, Sharer
from support.cluster_transactions import TIMEOUT_MS, AbortableError, LostError, TransactionalProducer
from support.guarded_store import ViolationError
from support.history import History, Outcome, Sent, violations

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from support.cluster_admin import Administrator
    from support.history import Place
    from support.virtual_cluster import VirtualCluster

COPIES: Final = "copied"
COPIERS: Final = "copiers"
READERS: Final = "readers"
Kinds = tuple[type[Member[Any]], ...]
CLASSIC: Final[Kinds] = (ClassicMember,)
MODERN: Final[Kinds] = (ConsumerMember,)
MIXED: Final[Kinds] = (ClassicMember, ConsumerMember)
"""Each process has one protocol or the other, so that the group changes its kind."""
STREAMS: Final[Kinds] = (StreamsMember,)
KINDS: Final[Sequence[Kinds]] = (CLASSIC, MODERN, MIXED, STREAMS)


class Copier:
    """A member of the group of copiers, with a transactional id."""

    def __init__(self, company: Company, number: int, seed: str, version: int) -> None:
        random = Random(f"{seed} copier {number}")
        self.producer = TransactionalProducer(company.cluster, f"copier-{number}", random, version)
        self._company = company
        self._member: Member[Consumer] = company.copier(self.producer)
        self._random = random

    async def run(self) -> None:
        """Copy until the company is done."""
        while not self._company.is_done:
            await self._member.keep()
            try:
                if self._member.owned and not await self._copy():
                    self._member.known.clear()
            except AbortableError:
                await self._abort()
            except LostError:
                self.producer.lose()
                self._member.known.clear()
            await asyncio.sleep(self._random.uniform(0, 0.3))

    async def _abort(self) -> None:
        self._member.known.clear()
        try:
            await self.producer.end(commits=False)
        except (AbortableError, LostError):
            self.producer.lose()

    async def _copy(self) -> bool:
        """One transaction; False if it did not happen."""
        await self.producer.begin()
        if not await self._find_places():
            return True
        records = {}
        for index, source in sorted(self._member.known.items()):
            found, _ = await source.poll(max_wait_ms=0)
            if found:
                records[index] = [value for _, value in found]
        if not records:
            return True
        for index, values in records.items():
            await self.producer.send((COPIES, index), values)
            if self._random.random() < 0.05:
                await self._die()
                return False
        read = {index: self._member.known[index] for index in records}
        offsets = {index: (source.position, source.epoch) for index, source in read.items()}
        await self.producer.send_offsets(COPIERS, self._company.topic, offsets, self._member.identity)
        if self._random.random() < 0.05:
            self._company.haunt(self.producer.ghost())
            await self._die()
            return False
        commits = self._random.random() < 0.8
        await self.producer.end(commits=commits)
        return commits

    async def _die(self) -> None:
        """End in the middle of it; another process takes the name of this one, at once or much later."""
        self._company.cluster.happened(f"{self.producer.name} dies")
        self.producer.lose()
        if self._random.random() < 0.5:
            self._member = self._company.copier(self.producer)
        if self._random.random() < 0.3:
            await asyncio.sleep(self._random.uniform(0, 2 * TIMEOUT_MS / 1000))

    async def _find_places(self) -> bool:
        """Where the group is in all partitions that this member owns; False if that cannot be told now."""
        sources = self._member.known
        new = sorted(self._member.owned - sources.keys())
        if not new:
            return True
        company = self._company
        found = await self.producer.committed(COPIERS, company.topic, new, self._member.asks_as)
        for index, position in (found or {}).items():
            place = (company.topic, index)
            source = company.reader(place, f"{self.producer.name} source")
            source.position = position
            source.heard_of(place, self.producer.leaders.get(place, (-1, -1))[1])
            sources[index] = source
        return found is not None


class Nobody:
    """The company of a story that has plain clients alone: it does nothing."""

    async def prepare(self, admin: Administrator) -> None:
        """Have what they need."""

    def work(self) -> list[Coroutine[object, object, None]]:
        """Return the work of all clients, until they are told to finish."""
        return []

    def watch(self) -> list[Coroutine[object, object, None]]:
        """Read what they have committed, for ever."""
        return []

    def finish(self) -> None:
        """Have all of them end."""

    def look(self) -> None:
        """Raise what those have found whose place others have taken."""

    def stop(self) -> None:
        """End those that are left."""

    async def unfinished(self, ends: dict[int, int]) -> list[str]:
        """Return what is not done yet, where the partitions that the clients read end at `ends`."""
        return []

    async def check(self, original: dict[Place, list[tuple[int, bytes]]]) -> None:
        """See that all was done well, with these records to read. Raises ViolationError."""


class Company(Nobody):
    """The copiers, the readers and the sharers of a story. `topic` is what they read."""

    def __init__(
        self, cluster: VirtualCluster, topic: str, seed: str, kinds: Sequence[Kinds] | None = None
    ) -> None:
        """`kinds`: those of the copiers and of the readers, if chance has no say in it."""
        random = Random(f"{seed} company")
        self.cluster = cluster
        self.topic = topic
        self.is_done = False
        self._copies_by, self._reads_by = random.sample(KINDS, 2) if kinds is None else kinds
        changing = {
            group for group, each in ((COPIERS, self._copies_by), (READERS, self._reads_by)) if each is MIXED
        }
        self._ownership = Ownership(changing=changing)
        self._history = History([], [], {})
        self._shared = Shared()
        self._ghosts: set[asyncio.Task[None]] = set()
        self._seed = seed
        self._copiers = [Copier(self, number, seed, random.choice((1, 2))) for number in range(2)]
        self._readers = ReaderGroup(READERS, topic, self._ownership)
        self._sharers = [Sharer(cluster, topic, self._shared, number, seed) for number in range(2)]

    async def prepare(self, admin: Administrator) -> None:
        """Have the features, the config and the topic that they need."""
        await admin.insist_on_features()
        await admin.insist_on_earliest(SHARERS)
        await admin.insist_on(COPIES, partitions=MOST_PARTITIONS)

    def work(self) -> list[Coroutine[object, object, None]]:
        """Return the work of all clients, until they are told to finish."""
        copying = [each.run() for each in self._copiers]
        reading = [self._read(f"reader-{number}") for number in range(2)]
        return [*copying, *reading, *(each.run() for each in self._sharers)]

    def copier(self, producer: TransactionalProducer) -> Member[Consumer]:
        """A process that copies begins."""
        kind = producer.random.choice(self._copies_by)
        return kind(producer, COPIERS, self.topic, self._ownership)

    async def _read(self, name: str) -> None:
        """One process after the other reads under a name."""
        random = Random(f"{self._seed} {name}")
        while not self.is_done:
            reader = Reader(self.cluster, self._readers, random.choice(self._reads_by), name, random)
            while not self.is_done and random.random() >= 0.03:
                await reader.work()
                await asyncio.sleep(random.uniform(0, 0.4))
            if random.random() < 0.5:
                await reader.member.leave()
            reader.client.close()

    def finish(self) -> None:
        """Have all of them end."""
        self.is_done = True
        for sharer in self._sharers:
            sharer.is_done = True

    def haunt(self, work: Coroutine[object, object, None]) -> None:
        """Let a process go on whose place another one has taken."""
        self._ghosts.add(asyncio.ensure_future(work))

    def look(self) -> None:
        """Raise what those have found whose place others have taken."""
        for ghost in [each for each in self._ghosts if each.done()]:
            self._ghosts.discard(ghost)
            ghost.result()

    def stop(self) -> None:
        """End those that are left."""
        for ghost in self._ghosts:
            ghost.cancel()

    def reader(self, place: Place, name: str, *, committed_only: bool = False) -> Consumer:
        """A consumer of a partition."""
        random = Random(f"{self._seed} {name} {place}")
        return Consumer(self.cluster, place, random, self._history, committed_only=committed_only)

    def watch(self) -> list[Coroutine[object, object, None]]:
        """Read what is committed of each partition of the copy, for ever."""
        places = [(COPIES, index) for index in range(MOST_PARTITIONS)]
        return [self.reader(place, "watcher", committed_only=True).run() for place in places]

    async def unfinished(self, ends: dict[int, int]) -> list[str]:
        """Partitions that are not copied to their ends, or not shared out."""
        client = self._copiers[0].producer
        found = await client.committed(COPIERS, self.topic, sorted(ends))
        if found is None:
            return ["no coordinator tells how far the copy is"]
        left = [
            f"{index} is copied to {found[index]} of {end}"
            for index, end in ends.items()
            if found[index] < end
        ]
        for index, end in ends.items():
            missing = self._shared.missing((self.topic, index), end)
            if missing:
                left.append(f"nobody was handed {missing} of {index}")
        return left

    async def check(self, original: dict[Place, list[tuple[int, bytes]]]) -> None:
        """See that each record was copied once and in order. Raises ViolationError."""
        client = CoordinatorClient(self.cluster, "auditor", Random(f"{self._seed} auditor"))
        indexes = sorted(index for _, index in original)
        while (committed := await client.committed(COPIERS, self.topic, indexes)) is None:
            await client.pause()
        for (_, index), records in original.items():
            for offset, value in records:
                outcome = Outcome.ACKNOWLEDGED if offset < committed[index] else Outcome.REFUSED
                self._history.sent.append(Sent("copier", offset, (COPIES, index), value, outcome))
        for index in range(MOST_PARTITIONS):
            reader = self.reader((COPIES, index), "end", committed_only=True)
            self._history.final[COPIES, index] = await reader.read_to_the_end()
        found = violations(self._history)
        if found:
            raise ViolationError(f"the copy, committed to {committed}: {'; '.join(found[:5])}")
