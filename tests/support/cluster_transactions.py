"""A transactional producer of a simulated cluster, as clients are: it tries again what may be tried again,
and begins anew where it cannot know what became of a transaction.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kcompat.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kcompat.protocol.messages.end_txn import EndTxnRequest
from kcompat.protocol.messages.init_producer_id import InitProducerIdRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.cluster_clients import PASSING, NoAnswerError
from support.cluster_coordinators import NOT_A_MEMBER, OF_GROUPS, OF_TRANSACTIONS, CoordinatorClient
from support.guarded_store import ViolationError
from support.virtual_loop import START_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from random import Random

    from kcompat.protocol.message import Message
    from support.cluster_clients import Reachable
    from support.history import Place

TIMEOUT_MS: Final = 5000
"""After which a transaction is aborted."""
GIVES_UP_S: Final = 6.0
"""How long a request is tried again."""
AGAIN: Final = frozenset({ErrorCode.CONCURRENT_TRANSACTIONS})
FENCED: Final = frozenset(
    {
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    }
)
"""Its transaction took too long and was aborted, or another process has its id."""
ABORTABLE: Final = NOT_A_MEMBER | {ErrorCode.TRANSACTION_ABORTABLE}


class AbortableError(Exception):
    """The transaction is to be aborted."""


class LostError(Exception):
    """Nobody knows what became of the transaction, or it is somebody else's."""


class TransactionalProducer(CoordinatorClient):
    """A transactional id; `version` is the `transaction.version` that it goes by, 1 or 2 (KIP-890)."""

    def __init__(self, cluster: Reachable, name: str, random: Random, version: int) -> None:
        super().__init__(cluster, name, random)
        self.version = version
        self.producer: tuple[int, int] | None = None
        """Producer id and epoch, once it has them."""
        self._sequences: dict[Place, int] = {}
        self._added: set[Place] = set()
        self._is_begun = False

    async def begin(self) -> None:
        """Be the producer of the id, of which nothing is open."""
        if self.producer is None:
            request = InitProducerIdRequest(self.name, TIMEOUT_MS)
            answer = await self._insist(
                OF_TRANSACTIONS, self.name, request, 4, lambda answer: int(answer.error_code)
            )
            self._become(answer.producer_id, answer.producer_epoch)
        self._added, self._is_begun = set(), False

    def _become(self, producer_id: int, epoch: int) -> None:
        self.producer = producer_id, epoch
        self._sequences.clear()

    @property
    def _identity(self) -> tuple[int, int]:
        assert self.producer is not None, "it has begun"
        return self.producer

    async def send(self, place: Place, values: Sequence[bytes]) -> None:
        """Write a batch in the transaction."""
        if self.version == 1 and place not in self._added:
            await self._add(place)
        self._is_begun = True
        producer_id, epoch = self._identity
        sequence = self._sequences.get(place, 0)
        batch = build_batch(
            [Record(0, START_MS, None, value) for value in values],
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=True,
        )
        self._sequences[place] = sequence + len(values)
        data = ProduceRequest.PartitionProduceData(place[1], memoryview(bytes(batch)))
        row = ProduceRequest.TopicProduceData(name=place[0], partition_data=[data])
        request = ProduceRequest(self.name, -1, 2000, [row])
        deadline = self._now_s() + GIVES_UP_S
        while self._now_s() < deadline:
            leader, _ = await self.leader_of(place)
            try:
                answer = await self.call(leader, request, 12 if self.version > 1 else 9)
            except NoAnswerError:
                await self.look_again(place)
                continue
            error = answer.responses[0].partition_responses[0].error_code
            if error == ErrorCode.NONE:
                return
            self._judge(error, f"about {place} by broker {leader}")
            await self.look_again(place)
        raise LostError(f"{place} did not take a batch")

    async def _add(self, place: Place) -> None:
        topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(place[0], [place[1]])
        request = AddPartitionsToTxnRequest([], self.name, *self._identity, [topic])
        await self._insist(
            OF_TRANSACTIONS,
            self.name,
            request,
            3,
            lambda answer: int(
                answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
            ),
        )
        self._added.add(place)
        self._is_begun = True

    async def send_offsets(
        self, group: str, topic: str, offsets: Mapping[int, tuple[int, int]], member: tuple[str, int]
    ) -> None:
        """Commit a group's offsets, each with the epoch of what is before it, in the transaction; `member` is
        an id and a generation or epoch.
        """
        if self.version == 1:
            adding = AddOffsetsToTxnRequest(self.name, *self._identity, group)
            await self._insist(OF_TRANSACTIONS, self.name, adding, 3, lambda answer: int(answer.error_code))
        self._is_begun = True
        rows = [
            TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(index, offset, epoch)
            for index, (offset, epoch) in offsets.items()
        ]
        wanted = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(topic, partitions=rows)
        member_id, epoch = member
        request = TxnOffsetCommitRequest(self.name, group, *self._identity, epoch, member_id, topics=[wanted])
        await self._insist(
            OF_GROUPS,
            group,
            request,
            5 if self.version > 1 else 3,
            lambda answer: max(int(row.error_code) for row in answer.topics[0].partitions),
        )

    async def end(self, *, commits: bool) -> None:
        """Commit the transaction, or abort it; done once the coordinator has said so."""
        if not self._is_begun:
            return
        request = EndTxnRequest(self.name, *self._identity, commits)
        answer = await self._insist(
            OF_TRANSACTIONS,
            self.name,
            request,
            5 if self.version > 1 else 3,
            lambda answer: int(answer.error_code),
        )
        self._is_begun = False
        if self.version > 1:
            self._become(answer.producer_id, answer.producer_epoch)

    def lose(self) -> None:
        """Know nothing any more of what was."""
        self.producer = None

    def ghost(self) -> Coroutine[object, object, None]:
        """Return the work of a process that commits its transaction later, when another may have its id."""
        ghost = TransactionalProducer(self.cluster, self.name, self.random, self.version)
        ghost.producer, ghost._is_begun = self.producer, True
        return ghost._end_late()

    async def _end_late(self) -> None:
        await asyncio.sleep(self.random.uniform(0, 1))
        with suppress(AbortableError, LostError):
            await self.end(commits=True)

    async def _insist(
        self, kind: int, key: str, request: Message, version: int, error_of: Callable[[Any], int]
    ) -> Any:
        """The answer, which has no error. Raises AbortableError, LostError."""
        deadline = self._now_s() + GIVES_UP_S
        while self._now_s() < deadline:
            answer = await self.ask(kind, key, request, version)
            if answer is None:
                continue
            error = error_of(answer)
            if error == ErrorCode.NONE:
                return answer
            self._judge(error, f"about {key}, to {request}")
            if error in PASSING:
                self.look_elsewhere(kind, key)
            await self.pause()
        raise LostError(f"no answer to {request}")

    def _judge(self, error: int, about: str) -> None:
        """Whether it may be tried again."""
        if error in FENCED or error == ErrorCode.INVALID_TXN_STATE:
            raise LostError(f"{self.name} is answered {error_of(error).name}")
        if error in ABORTABLE:
            raise AbortableError(f"{self.name} is answered {error_of(error).name}")
        if error not in PASSING and error not in AGAIN:
            raise ViolationError(f"{self.name} is answered {error_of(error).name} {about}")

    def _now_s(self) -> float:
        return self.cluster.now_s
