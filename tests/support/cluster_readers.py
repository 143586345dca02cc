"""Members of a group that only commit offsets, ever larger ones, and what may never be: that they go back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from support.cluster_coordinators import CoordinatorClient
from support.cluster_members import Member, Ownership, Times
from support.guarded_store import ViolationError

if TYPE_CHECKING:
    from random import Random

    from support.cluster_clients import Reachable


class ReaderGroup(Struct):
    """A group of readers; `accepted` are the offsets that they have committed for certain."""

    name: str
    topic: str
    ownership: Ownership
    times: Times = field(default_factory=Times)
    accepted: dict[int, int] = field(default_factory=dict)

    def found(self, before: dict[int, int], committed: dict[int, int]) -> None:
        """Somebody read these commits, who had before seen what was accepted until then. Raises
        ViolationError.
        """
        for index, place in committed.items():
            if place < before.get(index, 0):
                raise ViolationError(
                    f"commits of {index} in {self.name} went back from {before[index]} to {place}"
                )


class Reader:
    """One member of a group of readers."""

    def __init__(
        self, cluster: Reachable, group: ReaderGroup, kind: type[Member[int]], name: str, random: Random
    ) -> None:
        self.client = CoordinatorClient(cluster, name, random)
        self.member: Member[int] = kind(self.client, group.name, group.topic, group.ownership, group.times)
        self._group = group
        self._late: tuple[tuple[str, int], dict[int, int]] = ("", 0), {}

    async def work(self) -> None:
        """Heartbeat, and commit what it owns; where that is new, find out where the group is. What it has
        lost it commits once more the next time, as by a thread that is late: that must change nothing.
        """
        group, (identity, lost) = self._group, self._late
        before = self.member.identity, dict(self.member.known)
        await self.member.keep()
        owned, places = self.member.owned, self.member.known
        self._late = before[0], {index: place for index, place in before[1].items() if index not in owned}
        if lost:
            await self.client.commit(group.name, group.topic, lost, identity)
        if not owned:
            return
        new = sorted(owned - places.keys())
        if new:
            accepted = dict(group.accepted)
            found = await self.client.committed(group.name, group.topic, new) or {}
            group.found(accepted, found)
            places.update(found)
            return
        wanted = {index: place + self.client.random.randint(1, 3) for index, place in places.items()}
        if await self.client.commit(group.name, group.topic, wanted, self.member.identity):
            places.update(wanted)
            for index, place in wanted.items():
                group.accepted[index] = max(place, group.accepted.get(index, 0))
        else:
            places.clear()
