"""Share partitions on virtual time: on a broker with real logs and a share coordinator, or one alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.cluster.control_requests import Role
from kcompat.cluster.image import PartitionInfo, TopicImage
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.config.broker import BrokerConfig
from kcompat.config.topic import topic_config
from kcompat.log.loader import create_log
from kcompat.records.batch import build_batch, read_header
from kcompat.records.record import Record
from kcompat.replication.listing import EARLIEST_TIMESTAMP
from kcompat.replication.reading import READ_UNCOMMITTED
from kcompat.replication.replica_manager import ReplicaManager
from kcompat.replication.storage_config import log_config
from kcompat.share.fetching import ShareFetch, ShareFetchSpec
from kcompat.share.key import SharePartitionKey
from kcompat.share.leading import LedSharePartition
from kcompat.share.partition.acknowledgement import Acknowledgement, AcknowledgeType
from kcompat.share.partition.acquisition import Acquired, AcquisitionSpec, FetchedBatch
from kcompat.share.partition.in_flight import SpanChange
from kcompat.share.partition.limits import AcquireMode, ShareLimits
from kcompat.share.partition.share_partition import SharePartition
from kcompat.share.partition_manager import SharePartitions
from support.share_coordinators import TOPIC, TOPIC_PARTITIONS, ShareCoordinatorFixture

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.promise import Promise
    from kcompat.replication.partition import Partition
    from kcompat.share.batches import StateBatch
    from kcompat.share.fetching import Results
    from kcompat.share.persister import Outcome
    from kcompat.share.sessions import TopicIdPartition

ME, OTHER = 1, 2
GROUP = "group"
NAME = "topic"
LOCK_MS = 1000
ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT
RENEW, GAP = AcknowledgeType.RENEW, AcknowledgeType.GAP


class Settings:
    """`ShareSettings` of all groups alike."""

    def __init__(self) -> None:
        self.of_all = ShareLimits(2000, 5, LOCK_MS, renew_acknowledge=True)
        self.isolation = READ_UNCOMMITTED
        self.start = EARLIEST_TIMESTAMP

    def limits(self, _group_id: str) -> ShareLimits:
        return self.of_all

    def isolation_level(self, _group_id: str) -> int:
        return self.isolation

    def start_timestamp(self, _group_id: str, _now_ms: int) -> int:
        return self.start


class ShareFetchFixture:
    """A broker that leads all partitions of one topic, and coordinates their share partitions."""

    def __init__(self, directory: Path) -> None:
        self.coordination = ShareCoordinatorFixture()
        self.clock = self.coordination.clock
        self.cluster = MetadataCache("cluster")
        self.replicas = ReplicaManager(ME, self.clock, self.cluster)
        self.settings = Settings()
        self.is_awaited = True
        """Whether those who fetch still wait for the answer."""
        self._epoch = 0
        config = topic_config(BrokerConfig(), {})
        for index in range(TOPIC_PARTITIONS):
            log = create_log(
                directory / f"{NAME}-{index}", NAME, index, log_config(config), topic_id=TOPIC, now_ms=0
            )
            self.replicas.add(log, config, high_watermark=0)
        self.lead()
        replica = PartitionInfo(leader=ME, leader_epoch=0, replicas=(ME,), isr=(ME,))
        topic = TopicImage(NAME, TOPIC, dict.fromkeys(range(TOPIC_PARTITIONS), replica))
        self.cluster.update(self.cluster.image.with_topics([topic]))
        self.shares = SharePartitions(
            self.replicas, self.cluster, self.coordination.coordinator, self.clock, self.settings
        )
        for index in range(TOPIC_PARTITIONS):
            self.initialize(index)

    def initialize(self, index: int = 0, start_offset: int = -1, state_epoch: int = 0) -> None:
        """Begin a share partition anew, as the group coordinator does."""
        self.coordination.coordinator.initialize(
            SharePartitionKey(GROUP, TOPIC, index), state_epoch, start_offset
        )

    def lead(self, leader: int = ME, index: int | None = None) -> None:
        """Let a broker lead a partition, or all, in a leader epoch of its own."""
        self._epoch += 1
        for each in range(TOPIC_PARTITIONS) if index is None else (index,):
            self.replicas.take_role(NAME, each, Role(leader, self._epoch, (leader,), (ME, OTHER)))

    def partition(self, index: int = 0) -> Partition:
        """A partition of the topic."""
        found = self.replicas.get(NAME, index)
        assert found is not None
        return found

    def produce(self, *values: bytes, index: int = 0) -> None:
        """Append one batch of records."""
        batch = memoryview(build_batch([Record(at, 1000, None, value) for at, value in enumerate(values)]))
        self.partition(index).append(batch, read_header(batch), 1, now_ms=self.clock.now_ms())

    def fetch(
        self,
        *partitions: TopicIdPartition,
        member: str = "a",
        min_bytes: int = 1,
        max_bytes: int = 1 << 20,
        max_records: int = 500,
        wait_ms: int = 500,
    ) -> Promise[Results]:
        """ShareFetch, by default of partition 0."""
        targets = [(each, self.shares.lead(GROUP, each)) for each in partitions or ((TOPIC, 0),)]
        spec = ShareFetchSpec(
            member, min_bytes, max_bytes, max_records, batch_size=500, mode=AcquireMode.BATCH_OPTIMIZED
        )
        fetch = ShareFetch(targets, spec, self.settings.isolation_level(GROUP), lambda: self.is_awaited)
        return self.shares.wait(fetch, wait_ms).promise

    def led(self, index: int = 0) -> LedSharePartition:
        """A share partition that is led here."""
        led = self.shares.lead(GROUP, (TOPIC, index))
        assert isinstance(led, LedSharePartition)
        return led

    def say(self, first: int, last: int, *types: int, member: str = "a", index: int = 0) -> Promise[Outcome]:
        """ShareAcknowledge of one range."""
        key = SharePartitionKey(GROUP, TOPIC, index)
        return self.shares.acknowledge(key, member, [Acknowledgement(first, last, types)])


class SharePartitionFixture:
    """One share partition at `now_ms`. Batches are given as pairs of first and last offsets."""

    def __init__(
        self,
        *stored: StateBatch,
        start: int = 0,
        max_record_locks: int = 200,
        delivery_count_limit: int = 5,
        renew_acknowledge: bool = True,
    ) -> None:
        self.now_ms = 0
        self.limits = ShareLimits(max_record_locks, delivery_count_limit, LOCK_MS, renew_acknowledge)
        self.partition = SharePartition(7, 3, start, stored)

    def fetch(
        self,
        *batches: tuple[int, int],
        member: str = "a",
        records: int = 100,
        batch_size: int = 100,
        mode: AcquireMode = AcquireMode.BATCH_OPTIMIZED,
        aborted: tuple[tuple[int, int], ...] = (),
    ) -> list[Acquired]:
        """Acquire from these batches."""
        wish = AcquisitionSpec(member, self.partition.next_fetch_offset, records, batch_size, mode)
        acquired = self.partition.acquire(
            wish,
            [FetchedBatch(*batch) for batch in batches],
            [FetchedBatch(*batch) for batch in aborted],
            self.limits,
            self.now_ms,
        )
        self.partition.check_invariants()
        return acquired

    def begin(self, first: int, last: int, *types: int, member: str = "a") -> SpanChange | Outcome:
        """Say something of a range, without the write that it asks for."""
        said = [Acknowledgement(first, last, types)]
        begun = self.partition.acknowledge(member, said, self.limits, self.now_ms)
        self.partition.check_invariants()
        return begun

    def settle(self, change: SpanChange, *, is_stored: bool = True) -> None:
        """Settle the write under way."""
        self.partition.settle(change, self.limits, self.now_ms, is_stored=is_stored)
        self.partition.check_invariants()

    def say(self, first: int, last: int, *types: int, member: str = "a") -> None:
        """Say something of a range that can be done, and is stored."""
        change = self.begin(first, last, *types, member=member)
        assert isinstance(change, SpanChange), change
        self.settle(change)

    @property
    def in_flight(self) -> list[str]:
        """The spans in flight, as text."""
        return [repr(span).strip("<>") for span in self.partition.spans()]
