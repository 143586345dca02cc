"""Members of a share group of a simulated cluster: they read a topic together and say of each record what
became of it.

What may never be: a leader hands out a record that this leader or an earlier one was told to be done with.
(One that has lost its office, and does not know yet, may: what it is told is refused.) What must be in the
end: each record was handed to somebody.
"""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from kcompat.protocol.messages.share_fetch import ShareFetchRequest
from kcompat.records.batch import iter_headers
from support.cluster_clients import PASSING, NoAnswerError
from support.cluster_coordinators import CoordinatorClient
from support.cluster_members import Ownership, ShareMember
from support.guarded_store import ViolationError

if TYPE_CHECKING:
    from typing import Any

    from support.history import Place
    from support.virtual_cluster import VirtualCluster

SHARERS: Final = "sharers"
ACCEPT, RELEASE, REJECT = 1, 2, 3
AT_ONCE: Final = 50
"""Records that are asked for."""
REFUSED: Final = PASSING | {
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.INVALID_RECORD_STATE,
    ErrorCode.INVALID_SHARE_SESSION_EPOCH,
    ErrorCode.SHARE_SESSION_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_ID,
}
"""Errors for a member whose lock or session has ended, or whose group or topic is not known yet."""


class Shared(Struct):
    """The fate of the records of a topic, by partition and offset."""

    handed: dict[Place, set[int]] = {}
    done: dict[Place, dict[int, int]] = {}
    """The latest epoch in which a leader can have said that it was told so."""

    def hand(self, place: Place, epoch: int | None, offsets: range) -> None:
        """A leader of this epoch or a later one hands records out; None where that is not known. Raises
        ViolationError.
        """
        self.handed.setdefault(place, set()).update(offsets)
        if epoch is None:
            return
        done = self.done.setdefault(place, {})
        for offset in offsets:
            if epoch >= done.get(offset, epoch + 1):
                raise ViolationError(
                    f"{offset} of {place} is handed out in epoch {epoch}; in {done[offset]} it was done with"
                )

    def finish(self, place: Place, epoch: int, offsets: range) -> None:
        """A leader of this epoch or an earlier one has said that records are done with."""
        done = self.done.setdefault(place, {})
        for offset in offsets:
            done[offset] = min(epoch, done.get(offset, epoch))

    def missing(self, place: Place, end: int) -> list[int]:
        """Offsets below the end that were handed to nobody."""
        return sorted(set(range(end)) - self.handed.get(place, set()))


class Sharer:
    """A member of the group, again and again another one."""

    def __init__(self, cluster: VirtualCluster, topic: str, shared: Shared, number: int, seed: str) -> None:
        self.is_done = False
        self._cluster = cluster
        self._topic = topic
        self._shared = shared
        self._random = Random(f"{seed} sharer {number}")
        self._client = CoordinatorClient(cluster, f"sharer-{number}", self._random)
        self._member = self._come()

    def _come(self) -> ShareMember:
        return ShareMember(self._client, SHARERS, self._topic, Ownership())

    async def run(self) -> None:
        """Come and go until it is done."""
        while not self.is_done:
            await self._member.keep()
            for index in sorted(self._member.owned):
                await self._take((self._topic, index))
            if self._random.random() < 0.03:
                if self._random.random() < 0.5:
                    await self._member.leave()
                self._member = self._come()
            await asyncio.sleep(self._random.uniform(0, 0.5))

    async def _take(self, place: Place) -> None:
        """Have records handed out, and say what became of them, if nothing comes between."""
        topic_id, (member_id, _) = self._member.topic_id, self._member.identity
        leader, _ = await self._client.leader_of(place)
        epoch = self._epoch_of(leader, place)
        partition = ShareFetchRequest.FetchPartition(place[1])
        request = ShareFetchRequest(
            SHARERS,
            member_id,
            min_bytes=1,
            max_bytes=10_000,
            max_records=AT_ONCE,
            batch_size=AT_ONCE,
            topics=[ShareFetchRequest.FetchTopic(topic_id, [partition])],
        )
        found = self._only_row(await self._ask(leader, request), place)
        if found is None:
            await self._client.look_again(place)
            return
        acquired = [range(row.first_offset, row.last_offset + 1) for row in found.acquired_records]
        there = {
            offset
            for _, header in iter_headers(memoryview(found.records or b""))
            for offset in range(header.base_offset, header.last_offset + 1)
        }
        for offsets in acquired:
            if not there.issuperset(offsets):
                raise ViolationError(f"{self._client.name} has {offsets} of {place} and no records of them")
            self._shared.hand(place, epoch, offsets)
        if acquired and self._random.random() >= 0.05:
            await self._say(place, leader, acquired)

    async def _say(self, place: Place, leader: int, acquired: list[range]) -> None:
        """Acknowledge records that were handed out, all of a range alike."""
        kinds = self._random.choices([ACCEPT, RELEASE, REJECT], [8, 1, 1], k=len(acquired))
        rows = [
            ShareAcknowledgeRequest.AcknowledgementBatch(offsets[0], offsets[-1], [kind])
            for offsets, kind in zip(acquired, kinds, strict=True)
        ]
        partition = ShareAcknowledgeRequest.AcknowledgePartition(place[1], rows)
        topic = ShareAcknowledgeRequest.AcknowledgeTopic(self._member.topic_id, [partition])
        request = ShareAcknowledgeRequest(SHARERS, self._member.identity[0], 1, topics=[topic])
        answer = self._only_row(await self._ask(leader, request), place)
        epoch = self._epoch_of(leader, place)
        if answer is None or epoch is None:
            return
        for offsets, kind in zip(acquired, kinds, strict=True):
            if kind != RELEASE:
                self._shared.finish(place, epoch, offsets)

    async def _ask(self, broker_id: int, request: ShareFetchRequest | ShareAcknowledgeRequest) -> Any:
        try:
            return await self._client.call(broker_id, request, 1)
        except NoAnswerError:
            return None

    def _only_row(self, answer: Any, place: Place) -> Any:
        """The row of a partition; None where there is none, or an error that is to be expected."""
        if answer is None:
            return None
        row = answer.responses[0].partitions[0] if answer.responses else None
        error = answer.error_code or (0 if row is None else row.error_code)
        if error and error not in REFUSED:
            raise ViolationError(f"{self._client.name} is answered {error_of(error).name} about {place}")
        return None if error else row

    def _epoch_of(self, broker_id: int, place: Place) -> int | None:
        """In which epoch a broker has a partition now."""
        node = self._cluster.running.get(broker_id)
        found = None if node is None else node.parts.storage.replicas.get(*place)
        return None if found is None else found.role.leader_epoch
