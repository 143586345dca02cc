"""Topics on disk, and handlers that write and read them."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import TYPE_CHECKING, Any

from kcompat.api import produce
from kcompat.cluster.control_requests import Role
from kcompat.cluster.image import PartitionInfo, TopicImage
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.config.broker import BrokerConfig
from kcompat.config.topic import topic_config
from kcompat.log.loader import create_log
from kcompat.promise import Promise
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.batch import build_batch, iter_headers, read_records
from kcompat.records.compression import Codec
from kcompat.records.record import Record
from kcompat.replication.replica_manager import ReplicaManager
from kcompat.replication.storage_config import log_config
from kcompat.replication.waiting.fetch_session import FetchSessions
from support.asking import Client, ask, context_of, services_of
from support.verifiers import Trusting
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kcompat.api.charges import Charges
    from kcompat.api.context import RequestContext
    from kcompat.net.helpers import Lane
    from kcompat.protocol.message import Message
    from kcompat.replication.partition import Partition

ME = 1
ALONE = Role(leader=ME, leader_epoch=0, isr=(ME,), replicas=(ME,))
NOW = 1_700_000_000_000
MIB = 1 << 20
ONE, TWO = b"1" * 16, b"2" * 16
"""Ids of topics."""

Outcome = tuple["Lane", "Callable[[], object]", "Promise[Any]"]


class Helpers:
    """The helper threads of a broker, which do nothing before `work`."""

    def __init__(self) -> None:
        self.waiting: deque[Outcome] = deque()

    def run(self, lane: Lane, work: Callable[[], object]) -> Promise[Any]:
        promise: Promise[Any] = Promise()
        self.waiting.append((lane, work, promise))
        return promise

    def work(self, index: int = 0) -> Lane:
        """Finish one of what waits; the lane it was in."""
        lane, work, promise = self.waiting[index]
        del self.waiting[index]
        promise.complete(work())
        return lane

    def break_down(self) -> None:
        """Let the first of what waits meet a bug."""
        self.waiting.popleft()[2].fail(ZeroDivisionError("a bug"))


class TopicsFixture:
    """Topics on disk and requests to them; as in a connection, a frame is gone once the handler returns."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.clock = VirtualClock(NOW)
        self.helpers = Helpers()
        self.verifier = Trusting()
        self.peer = Client()
        self.charges: Charges | None = None
        """Costs of the next request for its client's quotas."""
        self.cluster = MetadataCache("cluster")
        self.replicas = ReplicaManager(ME, self.clock, self.cluster)
        self.services = services_of(
            config=BrokerConfig(),
            replicas=self.replicas,
            metadata=self.cluster,
            clock=self.clock,
            helpers=self.helpers,
            fetch_sessions=FetchSessions(100, Random(0)),
            verifier=self.verifier,
        )

    def create(self, topic: str, partitions: int = 1, topic_id: bytes = bytes(16), **settings: str) -> None:
        """A topic that this broker leads; `settings` are config keys with "_" for "."."""
        config = topic_config(BrokerConfig(), {key.replace("_", "."): text for key, text in settings.items()})
        for index in range(partitions):
            path = self._home / f"{topic}-{index}.{topic_id.hex()[:4]}"
            log = create_log(path, topic, index, log_config(config), topic_id=topic_id, now_ms=0)
            self.replicas.add(log, config, high_watermark=0)
            self.replicas.take_role(topic, index, ALONE)
        image = self.cluster.image
        if topic in image.topics:
            image = image.with_topics([], [topic])
        infos = dict.fromkeys(range(partitions), PartitionInfo(ME, 0, (ME,), (ME,)))
        self.cluster.image = image.with_topics([TopicImage(topic, topic_id, infos)])

    def context(self, version: int) -> RequestContext:
        """The surroundings of a request."""
        return context_of(
            self.services,
            version,
            client_id="me",
            client=self.peer,
            now_ms=self.clock.now_ms(),
            charges=self.charges,
        )

    def ask(self, module: Any, version: int, request: Message) -> Any:
        """Return the response of a handler."""
        return ask(module, version, request, self.services, client=self.peer, now_ms=self.clock.now_ms())

    def partition(self, topic: str, index: int = 0) -> Partition:
        """One of the partitions."""
        partition = self.replicas.get(topic, index)
        assert partition is not None
        return partition

    def values(self, topic: str, index: int = 0) -> list[bytes | None]:
        """The values of all records of a partition, in the order of the log."""
        log = self.partition(topic, index).log
        data = log.read(0, 1 << 30, log.log_end_offset, True)
        if data is None:
            return []
        with open(data.fileno(), "rb", closefd=False) as file:
            file.seek(data.position)
            view = memoryview(file.read(data.length))
        return [
            record.value
            for position, header in iter_headers(view)
            for record in read_records(view[position : position + header.size], 100 * MIB)
        ]

    def produce(
        self,
        *batches: tuple[int, bytes | None],
        topic: str = "t",
        version: int = 9,
        acks: int = 1,
        transactional_id: str | None = None,
        **more: Any,
    ) -> Any:
        """Produce batches to partitions of a topic, and return the response."""
        topics = [topic_data(*batches, topic=topic, **more)]
        return self.produce_all(topics, version=version, acks=acks, transactional_id=transactional_id)

    def produce_all(
        self,
        topics: list[ProduceRequest.TopicProduceData],
        *,
        version: int = 9,
        acks: int = 1,
        transactional_id: str | None = None,
    ) -> Any:
        """Produce to the topics of these rows, and return the response."""
        request = ProduceRequest(
            transactional_id=transactional_id, acks=acks, timeout_ms=1000, topic_data=topics
        )
        frame = bytearray(b"".join(request.encode(version)))
        read = ProduceRequest.decode(memoryview(frame), version)
        answer = produce.handle(self.context(version), read)
        for position in range(len(frame)):
            frame[position] = 0xEE
        return answer


def topic_data(
    *batches: tuple[int, bytes | None], topic: str = "t", **more: Any
) -> ProduceRequest.TopicProduceData:
    """An entry of a Produce request: batches for partitions of a topic."""
    rows = [ProduceRequest.PartitionProduceData(index=index, records=data) for index, data in batches]
    return ProduceRequest.TopicProduceData(name=topic, partition_data=rows, **more)


def batch(value: bytes, codec: Codec = Codec.NONE, **fields: Any) -> bytes:
    """A batch of one record of now; `fields` as for `build_batch`."""
    return bytes(build_batch([Record(0, NOW, b"k", value)], codec=codec, **fields))


def rows(response: Any) -> list[tuple[int, int, int]]:
    """Index, error and base offset of each partition of an answer to Produce."""
    return [
        (row.index, row.error_code, row.base_offset)
        for topic in response.responses
        for row in topic.partition_responses
    ]
