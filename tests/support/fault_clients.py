"""Clients of one broker, all at once: producers, two members of a group, another group, an administrator.

Each notes what failed and which partitions that was about, and what the broker has acknowledged.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from kcompat.coordinator.partitioning import partition_for
from kcompat.faults import contained
from kcompat.log.files import FileRange
from kcompat.net.answers import CLOSE, Waiting
from kcompat.protocol.api_keys import API_FACTS, response_class
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.create_partitions import CreatePartitionsRequest
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.delete_topics import DeleteTopicsRequest
from kcompat.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kcompat.protocol.messages.init_producer_id import InitProducerIdRequest
from kcompat.protocol.messages.join_group import JoinGroupRequest
from kcompat.protocol.messages.leave_group import LeaveGroupRequest
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.offset_commit import OffsetCommitRequest
from kcompat.protocol.messages.offset_fetch import OffsetFetchRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.protocol.messages.sync_group import SyncGroupRequest
from kcompat.records.batch import build_batch, iter_headers, read_records
from kcompat.records.record import Record
from kcompat.security.principals import ANONYMOUS
from kcompat.topics import CONSUMER_OFFSETS
from support.raw_client import request_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from kcompat.net.answers import Answer, Connection, FrameHandler
    from kcompat.protocol.message import Message
    from support.injected_faults import Injector
    from support.lone_broker import BrokerFixture

OFFSETS_PARTITIONS = 2
TICK_MS = 5
PATIENCE_MS = 30_000
"""How long a client waits for an answer before it takes it for lost."""
TRIES = 12

SMALL = {"segment.bytes": "500", "index.interval.bytes": "0"}
GROUPS = ("workers", "lonely")
EXTRA = "extra"
"""A topic that is made, changed and deleted."""

NORMAL = {
    ErrorCode.NONE,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.MEMBER_ID_REQUIRED,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
}
"""Errors that are no failures for a client."""

Partition = tuple[str, int]


class Failure(NamedTuple):
    """A request, or its part about one partition, that did not do what it was sent for."""

    api: str
    about: frozenset[Partition]
    error: str


class Peer:
    """The connection that a request came by, as far as handlers look at it. It never ends."""

    listener_name = "PLAINTEXT"
    peer_host = "127.0.0.1"
    local_address = ("localhost", 9092)
    principal = ANONYMOUS

    def place_next(self, data: memoryview, position: int) -> None:
        pass

    def when_closed(self, callback: Callable[[], object]) -> None:
        pass


class Ledger:
    """Acknowledged records and commits, and failures."""

    def __init__(self) -> None:
        self.records: dict[Partition, dict[int, bytes]] = {}
        self.commits: dict[tuple[str, Partition], int] = {}
        self.failures: list[Failure] = []


def offsets_partition(group: str) -> Partition:
    """Where a group lives."""
    return CONSUMER_OFFSETS, partition_for(group, OFFSETS_PARTITIONS)


class Clients:
    """All clients of one broker, over its dispatcher."""

    def __init__(
        self, fixture: BrokerFixture, dispatcher: FrameHandler, injector: Injector, ledger: Ledger
    ) -> None:
        self._fixture = fixture
        self._dispatcher = dispatcher
        self._injector = injector
        self.ledger = ledger

    # -- asking ------------------------------------------------------------------------------------------

    async def run(self, *scripts: Coroutine[Any, Any, object]) -> None:
        """Let these go on side by side, and time with them, until all have ended."""
        tasks = [asyncio.ensure_future(script) for script in scripts]
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            self._fixture.clock.advance(TICK_MS)
        for task in tasks:
            task.result()

    async def ask(self, request: Message, version: int, about: Iterable[Partition]) -> Any:
        """The response; None, and a failure, where the connection was closed or nothing came."""
        name = type(request).__name__.removesuffix("Request")
        frame = memoryview(bytearray(request_frame(request, version, 1, "client")[4:]))
        answer: Answer = CLOSE
        with contained("a frame"):  # a connection closes then
            answer = self._dispatcher.on_frame(cast("Connection", Peer()), frame)
        lost_at = self._fixture.clock.now_ms() + PATIENCE_MS
        while isinstance(answer, Waiting):
            answer.promise.then(lambda _: self._injector.come_by(f"callback: connection, {name}"))
            while not answer.promise.done:
                if self._fixture.clock.now_ms() > lost_at:
                    self.failed(name, about, "no answer")
                    return None
                await asyncio.sleep(0)
            answer = answer.promise.value
        if answer is CLOSE or answer is None:
            self.failed(name, about, "closed")
            return None
        data = b"".join(
            piece.read() if isinstance(piece, FileRange) else bytes(cast("Any", piece)) for piece in answer
        )
        header_size = 9 if API_FACTS[request.api_key].response_header_version(version) else 8
        return response_class(request.api_key).decode(memoryview(data), version, header_size)

    def failed(self, api: str, about: Iterable[Partition], error: str) -> None:
        """Note that something did not work."""
        self.ledger.failures.append(Failure(api, frozenset(about), error))

    def judge(self, api: str, about: Iterable[Partition], code: int) -> ErrorCode:
        """The error of an answer, noted unless it is nothing unusual."""
        error = ErrorCode(code)  # type: ignore[call-arg]  # of a member that is there
        if error not in NORMAL:
            self.failed(api, about, error.name)
        return error

    # -- producing and fetching --------------------------------------------------------------------------

    async def produce(self, partition: Partition, value: bytes, key: bytes | None = None) -> bool:
        """Send one record until it is acknowledged."""
        record = Record(0, self._fixture.clock.now_ms(), key, value)
        for _ in range(TRIES):
            data = ProduceRequest.PartitionProduceData(partition[1], memoryview(build_batch([record])))
            topic = ProduceRequest.TopicProduceData(name=partition[0], partition_data=[data])
            response = await self.ask(
                ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[topic]), 9, [partition]
            )
            if response is not None:
                answer = response.responses[0].partition_responses[0]
                if self.judge("Produce", [partition], answer.error_code) is ErrorCode.NONE:
                    self.ledger.records.setdefault(partition, {})[answer.base_offset] = value
                    return True
            await asyncio.sleep(0)
        return False

    async def produce_some(self, topic: str, index: int, count: int) -> None:
        """A producer at work."""
        for number in range(count):
            key = b"%d" % (number % 2) if topic == "keyed" else None
            await self.produce((topic, index), b"%s-%d-%d" % (topic.encode(), index, number) + bytes(90), key)

    async def fetch(self, partition: Partition, offset: int, max_wait_ms: int = 0) -> dict[int, bytes] | None:
        """The records from `offset` on; None where they cannot be had."""
        wanted = FetchRequest.FetchPartition(
            partition=partition[1], fetch_offset=offset, partition_max_bytes=1 << 20
        )
        topic = FetchRequest.FetchTopic(topic=partition[0], partitions=[wanted])
        request = FetchRequest(
            replica_id=-1, max_wait_ms=max_wait_ms, min_bytes=1, max_bytes=1 << 20, topics=[topic]
        )
        response = await self.ask(request, 11, [partition])
        if response is None or self.judge("Fetch", [partition], response.error_code):
            return None
        found = response.responses[0].partitions[0]
        if self.judge("Fetch", [partition], found.error_code):
            return None
        records = memoryview(found.records or b"")
        return {
            record.offset: bytes(record.value or b"")
            for position, header in iter_headers(records)
            for record in read_records(records[position : position + header.size])
        }

    async def read_all(self, partition: Partition) -> dict[int, bytes]:
        """Every record of a partition."""
        found: dict[int, bytes] = {}
        while some := await self.fetch(partition, max(found, default=-1) + 1):
            found.update(some)
        return found

    async def tail(self, partition: Partition, count: int) -> None:
        """Wait at the end of a partition for `count` records."""
        offset = 0
        for _ in range(count + TRIES):
            found = await self.fetch(partition, offset, max_wait_ms=100)
            offset = max(found or {}, default=offset - 1) + 1
            if offset >= count:
                return

    # -- groups ------------------------------------------------------------------------------------------

    async def consume(self, group: str, topic: str, index: int, rounds: int, delay_ms: int = 0) -> None:
        """A member of a group that fetches and commits `rounds` times, joining anew as often as it must."""
        await self.pause(delay_ms)
        member_id, done = "", 0
        for _ in range(TRIES):
            member_id, generation = await self._join(group, member_id)
            while generation >= 0 and done < rounds:
                await self.fetch((topic, index), done, max_wait_ms=100)
                if not await self._heartbeat(group, generation, member_id) or not await self.commit(
                    group, (topic, index), done + 1, generation, member_id
                ):
                    break
                done += 1
            if done == rounds:
                await self._leave(group, member_id)
                return
            await self.pause(20)

    async def _join(self, group: str, member_id: str) -> tuple[str, int]:
        """The member's id and generation; the generation is -1 where it must join again."""
        about = [offsets_partition(group)]
        protocol = JoinGroupRequest.JoinGroupRequestProtocol("range", b"me")
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            member_id=member_id,
            protocol_type="consumer",
            protocols=[protocol],
        )
        joined = await self.ask(request, 3, about)
        if joined is None:
            return member_id, -1
        if (error := self.judge("JoinGroup", about, joined.error_code)) is not ErrorCode.NONE:
            return "" if error is ErrorCode.UNKNOWN_MEMBER_ID else member_id, -1
        member_id = joined.member_id
        shares = [
            SyncGroupRequest.SyncGroupRequestAssignment(member.member_id, b"share")
            for member in joined.members
        ]
        synced = await self.ask(
            SyncGroupRequest(group, joined.generation_id, member_id, assignments=shares), 2, about
        )
        if synced is None or self.judge("SyncGroup", about, synced.error_code) is not ErrorCode.NONE:
            return member_id, -1
        return member_id, joined.generation_id

    async def _heartbeat(self, group: str, generation: int, member_id: str) -> bool:
        about = [offsets_partition(group)]
        beat = await self.ask(HeartbeatRequest(group, generation, member_id), 2, about)
        return beat is not None and self.judge("Heartbeat", about, beat.error_code) is ErrorCode.NONE

    async def _leave(self, group: str, member_id: str) -> None:
        about = [offsets_partition(group)]
        left = await self.ask(LeaveGroupRequest(group_id=group, member_id=member_id), 2, about)
        if left is not None:
            self.judge("LeaveGroup", about, left.error_code)

    async def commit(
        self, group: str, partition: Partition, offset: int, generation: int = -1, member_id: str = ""
    ) -> bool:
        """Commit an offset, from inside or from outside of the group."""
        about = [offsets_partition(group)]
        row = OffsetCommitRequest.OffsetCommitRequestPartition(
            partition_index=partition[1], committed_offset=offset
        )
        topic = OffsetCommitRequest.OffsetCommitRequestTopic(name=partition[0], partitions=[row])
        request = OffsetCommitRequest(
            group_id=group, generation_id_or_member_epoch=generation, member_id=member_id, topics=[topic]
        )
        response = await self.ask(request, 7, about)
        if response is None:
            return False
        answer = response.topics[0].partitions[0]
        if self.judge("OffsetCommit", about, answer.error_code) is not ErrorCode.NONE:
            return False
        self.ledger.commits[group, partition] = offset
        return True

    async def committed(self, group: str, partition: Partition) -> int | None:
        """Return a group's committed offset; None without an answer."""
        about = [offsets_partition(group)]
        topic = OffsetFetchRequest.OffsetFetchRequestTopic(partition[0], [partition[1]])
        for _ in range(TRIES):
            response = await self.ask(OffsetFetchRequest(group, [topic]), 5, about)
            if response is not None and not response.error_code:
                return int(response.topics[0].partitions[0].committed_offset)
            await self.pause(20)
        return None

    # -- administration ----------------------------------------------------------------------------------

    async def create_topic(
        self, name: str, partitions: int = 2, configs: dict[str, str] | None = None
    ) -> ErrorCode | None:
        """Make a topic."""
        rows = [
            CreateTopicsRequest.CreatableTopicConfig(key, value) for key, value in (configs or {}).items()
        ]
        topic = CreateTopicsRequest.CreatableTopic(name, partitions, 1, configs=rows)
        response = await self.ask(CreateTopicsRequest([topic], 5000), 5, [(name, 0)])
        return (
            None
            if response is None
            else self.judge("CreateTopics", [(name, 0)], response.topics[0].error_code)
        )

    async def administrate(self) -> None:
        """Make a topic, change it, look at everything, delete it."""
        about = [(EXTRA, 0)]
        await self.create_topic(EXTRA, configs=SMALL)
        setting = IncrementalAlterConfigsRequest.AlterableConfig("retention.ms", 0, "100000")
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(2, EXTRA, [setting])
        altered = await self.ask(IncrementalAlterConfigsRequest([resource]), 1, about)
        if altered is not None:
            self.judge("IncrementalAlterConfigs", about, altered.responses[0].error_code)
        await self.produce_some(EXTRA, 0, 2)
        growth = CreatePartitionsRequest.CreatePartitionsTopic(EXTRA, 4, None)
        grown = await self.ask(CreatePartitionsRequest([growth], 5000), 1, about)
        if grown is not None:
            self.judge("CreatePartitions", about, grown.results[0].error_code)
        await self.look()
        deleted = await self.ask(DeleteTopicsRequest(topic_names=[EXTRA], timeout_ms=5000), 5, about)
        if deleted is not None:
            self.judge("DeleteTopics", about, deleted.responses[0].error_code)

    async def look(self) -> None:
        """Ask what changes nothing, or nobody else's affairs."""
        await self.ask(MetadataRequest(topics=None), 9, [("all", 0)])
        await self.ask(DescribeLogDirsRequest(topics=None), 1, [("all", 0)])
        wanted = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=-2)
        named = ListOffsetsRequest.ListOffsetsTopic("orders", [wanted])
        listed = await self.ask(ListOffsetsRequest(replica_id=-1, topics=[named]), 5, [("orders", 0)])
        if listed is not None:
            self.judge("ListOffsets", [("orders", 0)], listed.topics[0].partitions[0].error_code)
        await self.ask(InitProducerIdRequest(None, 1000), 3, [("producer ids", 0)])

    async def find_coordinators(self) -> None:
        """Have the offsets topic made."""
        for group in GROUPS:
            await self.ask(FindCoordinatorRequest(key=group), 2, [offsets_partition(group)])

    async def pause(self, ms: int) -> None:
        """Let some time pass."""
        for _ in range(ms // TICK_MS):
            await asyncio.sleep(0)
