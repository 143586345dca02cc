"""One of the brokers of `support.replica_cluster`, and how it reaches the others."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

from kcompat.api import fetch, list_offsets, offset_for_leader_epoch
from kcompat.api.context import Interruptible
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.config.broker import BrokerConfig
from kcompat.log.files import FileRange
from kcompat.promise import Promise
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.messages.fetch import FetchResponse
from kcompat.records.batch import iter_headers, read_records
from kcompat.replication.following.fetcher_manager import FetcherManager
from kcompat.replication.leading.isr_proposals import IsrProposals
from kcompat.replication.replica_manager import ReplicaManager
from kcompat.replication.waiting.fetch_session import FetchSessions
from support.asking import context_of, services_of
from support.default_settings import fetcher_manager_settings, fetcher_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.config.topic import TopicConfig
    from kcompat.log.log import Log
    from kcompat.protocol.message import Message
    from kcompat.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
    from kcompat.replication.partition import Partition
    from support.virtual_clock import VirtualClock

LATENCY_MS = 1
HANDLERS: dict[ApiKey, tuple[Any, int]] = {
    ApiKey.FETCH: (fetch, 17),
    ApiKey.LIST_OFFSETS: (list_offsets, 9),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (offset_for_leader_epoch, 4),
}


class Home(Protocol):
    """The cluster that a node is of."""

    clock: VirtualClock
    config: TopicConfig
    cut_off: set[int]
    """The brokers that reach nobody."""
    nodes: dict[int, Node]

    def next_broker_epoch(self) -> int:
        """Return the broker epoch of the next registration."""

    def alter(self, node: Node, request: AlterPartitionRequest) -> AlterPartitionResponse:
        """Return the controller's answer."""


def records_of(log: Log) -> list[tuple[int, int, bytes]]:
    """Offset, leader epoch and value of each record."""
    data = log.read(log.log_start_offset, 1 << 30, log.log_end_offset, min_one_batch=True)
    view = memoryview(b"" if data is None else data.read())
    return [
        (header.base_offset + at, header.leader_epoch, record.value or b"")
        for position, header in iter_headers(view)
        for at, record in enumerate(read_records(view[position : position + header.size], 1 << 20))
    ]


FETCHING = fetcher_manager_settings(fetcher=fetcher_settings(partition_max_bytes=200, behind_max_bytes=400))
"""Some batches at a time: who is behind has to ask more than once."""


class Node:
    """One broker, from one start to the next crash."""

    def __init__(self, cluster: Home, broker_id: int, log: Log, high_watermark: int) -> None:
        self.cluster, self.id, self.log = cluster, broker_id, log
        self.broker_epoch = cluster.next_broker_epoch()
        self.is_up = True
        clock = cluster.clock
        self.metadata = MetadataCache("cluster")
        self.replicas = ReplicaManager(broker_id, clock, self.metadata)
        self.fetching = FetcherManager(
            broker_id, lambda: self.broker_epoch, partial(Link, self), clock, FETCHING
        )
        self.proposals = IsrProposals(broker_id, lambda: self.broker_epoch, self, clock)
        self.replicas.add_fetcher(self.fetching)
        self.replicas.propose_to(self.proposals.submit)
        self.services = services_of(
            config=BrokerConfig(),
            replicas=self.replicas,
            metadata=self.metadata,
            clock=clock,
            fetch_sessions=FetchSessions(100, Random(broker_id)),
        )
        self.partition: Partition = self.replicas.add(log, cluster.config, high_watermark)

    def propose(self, request: AlterPartitionRequest) -> Promise[AlterPartitionResponse]:
        """Ask the controller; nobody hears of it while this broker is cut off."""
        promise: Promise[AlterPartitionResponse] = Promise()

        def arrive() -> None:
            if self.id in self.cluster.cut_off or not self.is_up:
                promise.fail(OSError("the controller is not reached"))
            else:
                promise.complete(self.cluster.alter(self, request))

        self.cluster.clock.call_later(LATENCY_MS, arrive)
        return promise

    def handle(self, request: Message) -> Promise[Message]:
        """Handle a request of another broker, and promise the response."""
        module, version = HANDLERS[ApiKey(request.api_key)]
        frame = b"".join(bytes(part) for part in request.encode(version))
        asked = type(request).decode(memoryview(frame), version)
        context = context_of(self.services, version, now_ms=self.cluster.clock.now_ms())
        answer = module.handle(context, asked)
        if isinstance(answer, Interruptible):
            answer = answer.promise
        if not isinstance(answer, Promise):
            answer = Promise.resolved(answer)
        return answer.map(lambda response: _travelled(response, version))

    def crash(self, keep_until: int) -> None:
        """Lose everything from an offset on, and all that was only in memory."""
        self.is_up = False
        self.fetching.close()
        self.proposals.close()
        self.partition.retire()
        self.log.truncate_to(keep_until)


def _travelled(response: Message, version: int) -> Message:
    if isinstance(response, FetchResponse):
        for topic in response.responses:
            for row in topic.partitions:
                if isinstance(row.records, FileRange):
                    row.records = row.records.read()
    frame = b"".join(bytes(part) for part in response.encode(version))
    return type(response).decode(memoryview(bytearray(frame)), version)


class Link:
    """How a node reaches another."""

    def __init__(self, node: Node, leader: int, _number: int) -> None:
        self._node = node
        self._leader = leader

    def ask(self, key: ApiKey, make: Callable[[int], Message], timeout_ms: int) -> Promise[Message]:
        request = make(HANDLERS[key][1])
        promise: Promise[Message] = Promise()
        clock = self._node.cluster.clock
        clock.call_later(LATENCY_MS, partial(self._arrive, request, promise))
        clock.call_later(timeout_ms, partial(promise.fail, OSError("too late")))
        promise.then(lambda _: None, lambda _: None)
        return promise

    def disconnect(self) -> None:
        """Do nothing: there is no connection to keep."""

    def _is_cut(self, target: Node) -> bool:
        cut_off = self._node.cluster.cut_off
        return self._node.id in cut_off or target.id in cut_off or not target.is_up

    def _arrive(self, request: Message, promise: Promise[Message]) -> None:
        target = self._node.cluster.nodes[self._leader]
        if self._is_cut(target):
            promise.fail(OSError("no connection"))
            return
        clock = self._node.cluster.clock

        def answered(response: Message) -> None:
            lost = OSError("lost on the way back")
            back = (
                partial(promise.fail, lost) if self._is_cut(target) else partial(promise.complete, response)
            )
            clock.call_later(LATENCY_MS, back)

        target.handle(request).then(answered)
