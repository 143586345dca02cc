"""Clients of a simulated cluster: what all have in common, an idempotent producer, and a consumer.

They find leaders by Metadata, believe no metadata that is older than what they know, and try again what
failed, as real clients do. What they sent and saw is a `History`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, Final, Protocol

from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.protocol.messages.init_producer_id import InitProducerIdRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.batch import build_batch, iter_headers, read_header, read_records
from kcompat.records.record import Record
from support.guarded_store import ViolationError
from support.history import History, Outcome, Polled, Sent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from kcompat.protocol.message import Message
    from kcompat.protocol.messages.fetch import FetchResponse
    from kcompat.records.batch import BatchHeader
    from support.cluster_rules import ClusterRules
    from support.history import Place

PATIENCE_S: Final = 3.0
"""How long a client waits for an answer before it tries again."""
PAUSE_S: Final = 0.1
PASSING: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
    }
)
"""Errors after which clients try again."""


class NoAnswerError(Exception):
    """A broker is not there, or did not answer in time."""


class Connection(Protocol):
    """One to a broker."""

    async def call(self, request: Message, version: int) -> Any:
        """The response to a request. Raises ConnectionError when the broker ends the connection."""

    def close(self) -> None:
        """End the connection."""


class Reachable(Protocol):
    """Brokers that clients can connect to, whether they run or not."""

    broker_ids: list[int]
    always_name_a_broker: bool
    """Whether no client may hear that there is no broker. A Kafka that has just started says so."""

    @property
    def now_s(self) -> float:
        """The time by which clients and brokers live."""

    async def client(self, name: str, broker_id: int) -> Connection:
        """A connection of a client with this name. Raises ConnectionError."""


class ClusterClient:
    """The base of every client: where brokers are, and how to send them requests."""

    def __init__(self, cluster: Reachable, name: str, random: Random) -> None:
        self.cluster = cluster
        self.name = name
        self.random = random
        self.controller = -1
        self.leaders: dict[Place, tuple[int, int]] = {}
        """Leader and its epoch."""
        self._connections: dict[int, Connection] = {}

    async def call(
        self, broker_id: int, request: Message, version: int, patience_s: float = PATIENCE_S
    ) -> Any:
        """The answer of a broker. Raises NoAnswerError."""
        try:
            async with asyncio.timeout(patience_s):
                connection = self._connections.pop(broker_id, None)
                if connection is None:
                    connection = await self.cluster.client(self.name, broker_id)
                try:
                    answer = await connection.call(request, version)
                except BaseException:
                    connection.close()
                    raise
                self._connections[broker_id] = connection
                return answer
        except (ConnectionError, TimeoutError) as error:
            raise NoAnswerError(f"{error!r}") from error

    def close(self) -> None:
        """End the connections."""
        while self._connections:
            self._connections.popitem()[1].close()

    async def learn(self, *topics: str) -> None:
        """Ask some broker for the leaders of topics."""
        rows = [MetadataRequest.MetadataRequestTopic(name=topic) for topic in topics]
        request = MetadataRequest(topics=rows, allow_auto_topic_creation=False)
        asked = self.random.choice(self.cluster.broker_ids)
        try:
            answer = await self.call(asked, request, 9)
        except NoAnswerError:
            return
        if not answer.brokers and self.cluster.always_name_a_broker:
            raise ViolationError(f"broker {asked} tells {self.name} that there is no broker")
        self.controller = answer.controller_id
        for topic in answer.topics:
            for row in topic.partitions:
                place = (topic.name, row.partition_index)
                if row.leader_epoch >= self.leaders.get(place, (-1, -1))[1]:
                    self.leaders[place] = (row.leader_id, row.leader_epoch)

    def heard_of(self, place: Place, epoch: int) -> None:
        """Take no broker for the leader any more that led before this epoch: it may not have what others have
        read since (KIP-320).
        """
        if epoch > self.leaders.get(place, (-1, -1))[1]:
            self.leaders[place] = (-1, epoch)

    async def pause(self) -> None:
        """Wait a moment before the next attempt."""
        await asyncio.sleep(self.random.uniform(0.2, 1) * PAUSE_S)

    async def leader_of(self, place: Place) -> tuple[int, int]:
        """Leader and epoch, as soon as there is a leader as far as this client knows."""
        while self.leaders.get(place, (-1, -1))[0] < 0:
            await self.learn(place[0])
            await self.pause()
        return self.leaders[place]

    async def look_again(self, place: Place) -> None:
        """Something failed: ask who leads."""
        await self.pause()
        await self.learn(place[0])


class Producer(ClusterClient):
    """Sends with acks=all to one partition, one batch at a time, each until it is acknowledged."""

    def __init__(
        self,
        cluster: Reachable,
        place: Place,
        random: Random,
        history: History,
        rules: ClusterRules,
    ) -> None:
        super().__init__(cluster, f"producer of {place[0]}-{place[1]}", random)
        self.is_done = False
        self._place = place
        self._history = history
        self._rules = rules
        self._count = 0

    async def run(self) -> None:
        """Produce until `is_done`."""
        producer_id, epoch = await self._identity()
        while not self.is_done:
            sequence = self._count
            values = [
                b"%s-%d-%d" % (self._place[0].encode(), self._place[1], sequence + at)
                for at in range(self.random.randint(1, 4))
            ]
            now_ms = 1_700_000_000_000
            batch = build_batch(
                [Record(0, now_ms, None, value) for value in values],
                producer_id=producer_id,
                producer_epoch=epoch,
                base_sequence=sequence,
            )
            self._count += len(values)
            offset = await self._send(bytes(batch))
            for at, value in enumerate(values):
                self._history.sent.append(
                    Sent(self.name, sequence + at, self._place, value, Outcome.ACKNOWLEDGED, offset + at)
                )
            await asyncio.sleep(self.random.uniform(0, 0.3))

    async def _identity(self) -> tuple[int, int]:
        request = InitProducerIdRequest(transactional_id=None)
        while True:
            try:
                answer = await self.call(self.random.choice(self.cluster.broker_ids), request, 4)
            except NoAnswerError:
                await self.pause()
                continue
            if not answer.error_code:
                return answer.producer_id, answer.producer_epoch
            await self.pause()

    async def _send(self, batch: bytes) -> int:
        """The offset of a batch, when it is acknowledged."""
        topic, index = self._place
        while True:
            leader, _ = await self.leader_of(self._place)
            data = ProduceRequest.PartitionProduceData(index, memoryview(batch))
            row = ProduceRequest.TopicProduceData(name=topic, partition_data=[data])
            asked_s = self.cluster.now_s
            try:
                answer = await self.call(leader, ProduceRequest(None, -1, 2000, [row]), 9)
            except NoAnswerError:
                await self.look_again(self._place)
                continue
            (result,) = answer.responses[0].partition_responses
            if result.error_code == ErrorCode.NONE:
                checksum = read_header(memoryview(batch)).crc
                self._rules.promised(self._place, result.base_offset, checksum, leader, asked_s)
                return int(result.base_offset)
            if result.error_code not in PASSING:
                raise ViolationError(
                    f"{self.name} is answered {error_of(result.error_code).name} by broker {leader}"
                )
            await self.look_again(self._place)


class Consumer(ClusterClient):
    """Reads one partition from its start, as far as consumers may; `committed_only`: what transactions have
    committed, and nothing that they aborted.
    """

    def __init__(
        self,
        cluster: Reachable,
        place: Place,
        random: Random,
        history: History,
        *,
        committed_only: bool = False,
    ) -> None:
        super().__init__(cluster, f"consumer of {place[0]}-{place[1]}", random)
        self._place = place
        self._history = history
        self._committed_only = committed_only
        self.position = 0
        self.epoch = -1
        """Leader epoch of the batch before the position."""

    async def run(self) -> None:
        """Read until cancelled."""
        while True:
            records, _ = await self.poll(max_wait_ms=300)
            if records:
                self._history.polled.append(Polled(self.name, self._place, records))
            await asyncio.sleep(self.random.uniform(0, 0.4 if self._committed_only else 0.2))

    async def read_to_the_end(self) -> list[tuple[int, bytes]]:
        """All that there is."""
        found: list[tuple[int, bytes]] = []
        while True:
            records, end = await self.poll(max_wait_ms=0)
            found += records
            if self.position >= end >= 0:
                return found

    async def poll(self, *, max_wait_ms: int) -> tuple[list[tuple[int, bytes]], int]:
        """Records from the position on, and how far they may be read; none, and -1, where that failed."""
        topic, index = self._place
        leader, epoch = await self.leader_of(self._place)
        row = FetchRequest.FetchPartition(
            index, current_leader_epoch=epoch, fetch_offset=self.position, partition_max_bytes=5000
        )
        request = FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            isolation_level=int(self._committed_only),
            topics=[FetchRequest.FetchTopic(topic, partitions=[row])],
        )
        try:
            answer = await self.call(leader, request, 11)
        except NoAnswerError:
            await self.look_again(self._place)
            return [], -1
        found = answer.responses[0].partitions[0]
        if found.error_code:
            if found.error_code not in PASSING:
                raise ViolationError(
                    f"{self.name} is answered {error_of(found.error_code).name} by broker {leader} at "
                    f"{self.position} in epoch {epoch}"
                )
            await self.look_again(self._place)
            return [], -1
        end = found.last_stable_offset if self._committed_only else found.high_watermark
        return self._read(found, end), end

    def _read(self, found: FetchResponse.PartitionData, end: int) -> list[tuple[int, bytes]]:
        """The records of an answer, which the position is moved behind."""
        aborted = deque(
            sorted((row.first_offset, row.producer_id) for row in found.aborted_transactions or ())
        )
        skipped: set[int] = set()
        records: list[tuple[int, bytes]] = []
        position = self.position
        assert isinstance(found.records, memoryview | None)
        for header, batch in _whole_batches(found.records or memoryview(b"")):
            while aborted and aborted[0][0] <= header.last_offset:
                skipped.add(aborted.popleft()[1])
            if header.is_control:
                skipped.discard(header.producer_id)
            elif not header.is_transactional or header.producer_id not in skipped:
                records += [
                    (record.offset, bytes(record.value or b""))
                    for record in read_records(batch)
                    if record.offset >= position
                ]
            self.position, self.epoch = header.next_offset, header.leader_epoch
        if self.position > max(end, position):
            raise ViolationError(f"I4: {self.name} read up to {self.position} above {end}")
        return records


def _whole_batches(view: memoryview) -> Iterator[tuple[BatchHeader, memoryview]]:
    """The batches that are there to their ends."""
    for position, header in iter_headers(view):
        if position + header.size <= len(view):
            yield header, view[position : position + header.size]
