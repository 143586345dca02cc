"""Groups of very many members that are killed all the time, and what may never be in them: a partition that
somebody is told to own while another one has it, or commits that go back.
"""

from __future__ import annotations

import asyncio
import time
from random import Random
from typing import TYPE_CHECKING

from accidents import PATIENCE_S
from kcompat.group.coordinator import WITHOUT_CONNECTION
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcompat.protocol.messages.update_features import UpdateFeaturesRequest
from support.cluster_clients import NoAnswerError
from support.cluster_coordinators import CoordinatorClient
from support.cluster_members import Ownership, Times
from support.cluster_readers import Reader, ReaderGroup
from support.eventually import Patience
from support.guarded_store import ViolationError
from support.raw_client import RawClient
from support.socket_client import SocketClient

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from support.cluster_members import Member

SESSION_MS = 6_000
TIMES = Times(session_ms=SESSION_MS, rebalance_ms=30_000, answered_s=60, joined_s=90)
PACE_S = 1.0
"""The longest that a member rests."""


class Reached:
    """Brokers as simulated clients see them: over real sockets, in real time."""

    def __init__(
        self, addresses: Mapping[int, tuple[str, int]], *, always_name_a_broker: bool = True
    ) -> None:
        """`always_name_a_broker`: see `Reachable`."""
        self.broker_ids = sorted(addresses)
        self.always_name_a_broker = always_name_a_broker
        self._addresses = addresses

    @property
    def now_s(self) -> float:
        """Seconds of a clock that everything in this process shares."""
        return time.monotonic()

    async def client(self, name: str, broker_id: int) -> SocketClient:
        """A connection to a broker."""
        return await SocketClient.connect(name, self._addresses[broker_id])

    def finalize(self, feature: str, level: int) -> None:
        """Ask for a feature until one of them, which is the controller, has finalized it."""
        update = UpdateFeaturesRequest.FeatureUpdateKey(feature, level)
        patience = Patience(PATIENCE_S)
        while True:
            for address in self._addresses.values():
                with RawClient(address, PATIENCE_S) as client:
                    answer = client.call(UpdateFeaturesRequest(60_000, [update]), 1)
                if not answer.error_code:
                    return
            assert patience.lasts, answer
            time.sleep(0.1)


class Custody(Ownership):
    """As long as the coordinator cannot have given a member up, nobody else is told to own what it has.

    That is so after a request that was answered for as long as a session lasts without a connection, since
    its client may have lost that right after it. In a cluster that is cut in two it need not be so: who has
    lost the coordination without knowing it yet lets its members be.

    Epochs begin anew where a classic group is left by all its members and becomes a consumer group: those of
    lost members are not looked at any more once there were later ones.
    """

    _has: dict[tuple[str, str], frozenset[int]] = {}
    _lives_s: dict[tuple[str, str], float] = {}
    _owner: dict[tuple[str, int], str] = {}
    _newest: dict[str, int] = {}

    def kept(self, group: str, member_id: str, indexes: frozenset[int]) -> None:
        self._has[group, member_id] = indexes

    def lives(self, group: str, member_id: str, asked_s: float) -> None:
        self._lives_s[group, member_id] = asked_s

    def told(self, group: str, generation: int, member_id: str, indexes: frozenset[int]) -> None:
        """See `Ownership`. Raises ViolationError where another one has what this member is told to own."""
        newest = self._newest[group] = max(generation, self._newest.get(group, 0))
        for index in indexes if generation < newest else ():
            if not self._is_certain(group, self.owners.get((group, generation, index), "")):
                self.owners.pop((group, generation, index), None)
        super().told(group, generation, member_id, indexes)
        for index in indexes if self._is_certain(group, member_id) else ():
            owner = self._owner.get((group, index), member_id)
            has = index in self._has.get((group, owner), ())
            if owner != member_id and has and self._is_certain(group, owner):
                raise ViolationError(
                    f"{member_id} is told to own partition {index} of {group} in {generation}; {owner} has it"
                )
            self._owner[group, index] = member_id
        self._has[group, member_id] = indexes

    def _is_certain(self, group: str, member_id: str) -> bool:
        certain_s = SESSION_MS / 1000 * WITHOUT_CONNECTION
        return time.monotonic() < self._lives_s.get((group, member_id), 0) + certain_s


class Storm:
    """A group, in which somebody is killed every so often and another one comes."""

    def __init__(
        self,
        brokers: Reached,
        group: ReaderGroup,
        kinds: Sequence[type[Member[int]]],
        count: int,
        tasks: asyncio.TaskGroup,
    ) -> None:
        """`count` members of these kinds in turn, whose work is among `tasks`."""
        self.group = group
        self.killed = 0
        self._brokers = brokers
        self._random = Random(group.name)
        self._kinds = kinds
        self._tasks = tasks
        self._members: dict[Reader, asyncio.Task[None]] = {}
        self._number = 0
        for number in range(count):
            self._add(kinds[number % len(kinds)])

    def _add(self, kind: type[Member[int]]) -> None:
        self._number += 1
        name = f"{self.group.name}-{self._number}"
        reader = Reader(self._brokers, self.group, kind, name, Random(name))
        self._members[reader] = self._tasks.create_task(self._live(reader))

    async def _live(self, reader: Reader) -> None:
        while True:
            await reader.work()
            await asyncio.sleep(reader.client.random.uniform(0.5, 1) * PACE_S)

    async def _kill(self, reader: Reader) -> None:
        task = self._members.pop(reader)
        task.cancel()
        await asyncio.wait([task])
        reader.client.close()
        self.killed += 1

    async def rage(self, every_s: float) -> None:
        """Kill one as often as that on average, for ever; another one takes its place."""
        while True:
            await asyncio.sleep(self._random.expovariate(1 / every_s))
            await self._kill(self._random.choice(list(self._members)))
            self._add(self._random.choice(self._kinds))

    async def come_and_go(self, every_s: float) -> None:
        """Have one more, and then again one less, which takes leave, for ever."""
        while True:
            await asyncio.sleep(every_s)
            self._add(self._random.choice(self._kinds))
            await asyncio.sleep(every_s)
            leaving = self._random.choice(list(self._members))
            task = self._members.pop(leaving)
            task.cancel()
            await asyncio.wait([task])
            self.group.ownership.kept(self.group.name, leaving.member.identity[0], frozenset())
            await leaving.member.leave()
            leaving.client.close()

    async def turn(self, kind: type[Member[int]]) -> None:
        """Kill all that are not of this kind; such as are come in their place."""
        while others := [each for each in self._members if not isinstance(each.member, kind)]:
            await self._kill(others[0])
            self._add(kind)

    @property
    def generations(self) -> int:
        """In how many generations, or epochs, somebody was told to own something."""
        return len({when for group, when, _ in self.group.ownership.owners if group == self.group.name})

    async def settled(self, partitions: int) -> None:
        """Return when each partition has one owner, and is committed as far as it was."""
        patience = Patience(PATIENCE_S)
        while sorted(index for each in self._members for index in each.member.owned) != [*range(partitions)]:
            assert patience.lasts, [each.member.owned for each in self._members]
            await asyncio.sleep(0.1)
        before = dict(self.group.accepted)
        asked = CoordinatorClient(self._brokers, f"auditor of {self.group.name}", self._random)
        wanted = list(range(partitions))
        while (found := await asked.committed(self.group.name, self.group.topic, wanted)) is None:
            assert patience.lasts, "nobody tells what is committed"
        asked.close()
        self.group.found(before, found)

    async def end(self) -> None:
        """Kill all members of the group."""
        for reader in list(self._members):
            await self._kill(reader)


async def coordinator_of(brokers: Reached, group: str) -> int:
    """Return the coordinator of a group, once it has one."""
    client = CoordinatorClient(brokers, "seeker", Random(group))
    patience = Patience(PATIENCE_S)
    try:
        while True:
            assert patience.lasts, f"nobody coordinates {group}"
            try:
                broker_id = client.random.choice(brokers.broker_ids)
                answer = await client.call(broker_id, FindCoordinatorRequest(key=group), 2)
                if not answer.error_code:
                    return int(answer.node_id)
            except NoAnswerError:
                pass
            await client.pause()
    finally:
        client.close()
