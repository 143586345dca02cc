"""All partitions of this broker, and the requests that wait on them (Kafka's `ReplicaManager`).

The controller's decisions arrive as roles; request handlers find partitions by topic name and index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from kcompat.faults import contained
from kcompat.log.refusals import Refusals
from kcompat.protocol.errors import ErrorCode
from kcompat.replication.leading.leader import IsrRule
from kcompat.replication.partition import Partition
from kcompat.replication.partition_ports import PartitionPorts
from kcompat.replication.purgatory import Purgatory
from kcompat.replication.storage_config import log_config
from kcompat.replication.throttle import ReplicaThrottles, ReplicationThrottle, names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kcompat.clock import Clock
    from kcompat.cluster.control_requests import Role
    from kcompat.cluster.image import ClusterImage
    from kcompat.cluster.metadata_cache import MetadataCache
    from kcompat.config.topic import TopicConfig
    from kcompat.log.log import Log
    from kcompat.records.batch import BatchHeader
    from kcompat.replication.isr import IsrOwner, Pending
    from kcompat.replication.statistics import Statistics

    LeadershipListener = Callable[[Partition], None]


class PartitionFetcher(Protocol):
    """Port to the part that copies records into partitions: `FetcherManager` from the leaders on other
    brokers, `Moves` from a log on this broker to another log directory.
    """

    def follow(self, partition: Partition) -> None:
        """Fetch for a partition that has taken a role, if the role requires it."""

    def leave(self, topic: str, index: int) -> None:
        """Stop fetching for a partition."""


MAX_LAG_MS: Final = 30_000
"""Kafka's default of `replica.lag.time.max.ms`."""
MAX_FETCH_WAIT_MS: Final = 500
"""Kafka's default of `replica.fetch.wait.max.ms`."""
SESSION_TIMEOUT_MS: Final = 18_000
"""Kafka's default of `zookeeper.session.timeout.ms`."""
MOST_AWAITED: Final = 100
"""Maximum number of absent partitions whose refused batches are remembered; beyond it all are forgotten."""


class ReplicaManager:
    """The partitions of this broker, by topic name and index."""

    def __init__(
        self,
        broker_id: int,
        clock: Clock,
        cluster: MetadataCache,
        *,
        max_lag_ms: int = MAX_LAG_MS,
        max_fetch_wait_ms: int = MAX_FETCH_WAIT_MS,
        session_timeout_ms: int = SESSION_TIMEOUT_MS,
    ) -> None:
        """Begin without partitions.

        `max_lag_ms` is `replica.lag.time.max.ms`, `max_fetch_wait_ms` is `replica.fetch.wait.max.ms`, and
        `session_timeout_ms` is `zookeeper.session.timeout.ms`.
        """
        self.broker_id = broker_id
        self._clock = clock
        self._cluster = cluster
        self._ports = PartitionPorts(
            broker_id,
            clock,
            IsrRule(
                max_lag_ms,
                lambda broker: broker in cluster.image.brokers,
                max_fetch_wait_ms,
                session_timeout_ms,
            ),
            produces=Purgatory(clock),
            fetches=Purgatory(clock),
            replica_fetches=Purgatory(clock),
            deletions=Purgatory(clock),
            leadership_checks=Purgatory(clock),
        )
        self._leader_throttle, self._follower_throttle = ReplicationThrottle(), ReplicationThrottle()
        self._topics: dict[str, dict[int, Partition]] = {}
        self._offline: set[tuple[str, int]] = set()
        """Partitions whose logs could not be opened when they took a role."""
        self._awaited: dict[tuple[str, int], Refusals] = {}
        """Batches that were refused because their partition was not on this broker, by topic and index."""
        self._listeners: dict[str, LeadershipListener] = {}
        self._fetchers: list[PartitionFetcher] = []
        cluster.subscribe(self._image_changed)

    @property
    def statistics(self) -> Statistics:
        """Counts of what the partitions have served."""
        return self._ports.statistics

    @property
    def produces(self) -> Purgatory:
        """Produce requests that wait for the in-sync replicas, or for a sync to the device."""
        return self._ports.produces

    @property
    def fetches(self) -> Purgatory:
        """Fetches of consumers that wait for records."""
        return self._ports.fetches

    @property
    def replica_fetches(self) -> Purgatory:
        """Fetches of followers that wait for appends."""
        return self._ports.replica_fetches

    @property
    def deletions(self) -> Purgatory:
        """DeleteRecords requests that wait for the followers' log starts."""
        return self._ports.deletions

    @property
    def leadership_checks(self) -> Purgatory:
        """Pending checks of coordinators whether this broker still leads."""
        return self._ports.leadership_checks

    def propose_to(self, propose: Callable[[IsrOwner, Pending], object]) -> None:
        """Make leaders propose other ISRs through `propose` (`IsrProposals.submit`)."""
        self._ports.propose = propose

    def add_fetcher(self, fetcher: PartitionFetcher) -> None:
        """Call `fetcher` with every later role of a partition."""
        self._fetchers.append(fetcher)

    def on_leadership(self, topic: str, listener: LeadershipListener) -> None:
        """Call `listener` when a partition of `topic` changes its role, is added or is removed.

        Coordinators use it to load their partitions. An exception of the listener does not prevent the role.
        """
        self._listeners[topic] = listener

    def get(self, topic: str, index: int) -> Partition | None:
        """Return the partition; None if this broker has no replica of it."""
        partitions = self._topics.get(topic)
        return None if partitions is None else partitions.get(index)

    def find(self, topic: str, index: int) -> Partition | ErrorCode:
        """Return the partition, or the error for a client (Kafka's `getPartitionOrError`)."""
        try:
            return self._topics[topic][index]
        except KeyError:
            return self._why_absent(topic, index)

    def _why_absent(self, topic: str, index: int) -> ErrorCode:
        if (topic, index) in self._offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        known = self._cluster.image.partition(topic, index)
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if known is None else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def note_refusal(self, topic: str, index: int, header: BatchHeader, error: ErrorCode) -> None:
        """Record that a batch was refused with `error` because its partition is not on this broker."""
        key = (topic, index)
        if key not in self._awaited and len(self._awaited) >= MOST_AWAITED:
            self._awaited.clear()
        self._awaited.setdefault(key, Refusals()).note(header, error)

    def is_offline(self, topic: str, index: int) -> bool:
        """Return whether the disk of this broker's replica has failed."""
        partition = self.get(topic, index)
        return (topic, index) in self._offline if partition is None else partition.log.is_failed

    def mark_offline(self, topic: str, index: int) -> None:
        """Record that the log of a partition cannot be opened."""
        self._offline.add((topic, index))

    def __iter__(self) -> Iterator[Partition]:
        for partitions in self._topics.values():
            yield from partitions.values()

    def add(self, log: Log, config: TopicConfig, high_watermark: int) -> Partition:
        """Add a partition without a role; `high_watermark` is the checkpointed one (0 for a new log)."""
        partition = Partition(log, self._ports, high_watermark=high_watermark)
        self._obey(partition, config)
        self._topics.setdefault(log.topic, {})[log.partition] = partition
        self._offline.discard((log.topic, log.partition))
        refusals = self._awaited.pop((log.topic, log.partition), None)
        if refusals is not None:
            log.producer_state.refusals = refusals
        return partition

    def topics(self) -> list[str]:
        """Return the topics of which this broker has partitions."""
        return list(self._topics)

    def of(self, topic: str) -> list[Partition]:
        """Return the partitions of a topic that this broker has."""
        return list(self._topics.get(topic, {}).values())

    def has_topic(self, topic: str) -> bool:
        """Return whether this broker has partitions of a topic."""
        return topic in self._topics

    def configure(self, topic: str, config: TopicConfig) -> None:
        """Apply a changed configuration to a topic's partitions."""
        storage = log_config(config)
        for partition in self._topics[topic].values():
            self._obey(partition, config)
            partition.log.update_config(storage)
            if partition.future is not None:
                partition.future.log.update_config(storage)

    def _obey(self, partition: Partition, config: TopicConfig) -> None:
        partition.require_in_sync(config.min_insync_replicas)
        index, broker_id = partition.index, self.broker_id
        as_leader = names(config.leader_replication_throttled_replicas, index, broker_id)
        as_follower = names(config.follower_replication_throttled_replicas, index, broker_id)
        partition.throttled = ReplicaThrottles(
            self._leader_throttle if as_leader else None, self._follower_throttle if as_follower else None
        )

    def throttle(self, leader_rate: int, follower_rate: int, samples: int, sample_ms: int) -> None:
        """Limit the bytes per second that throttled replicas send and receive, over a window of samples."""
        self._leader_throttle.configure(leader_rate, samples, sample_ms)
        self._follower_throttle.configure(follower_rate, samples, sample_ms)

    def take_role(self, topic: str, index: int, role: Role) -> ErrorCode:
        """Make a partition take the role that the controller decided (LeaderAndIsr)."""
        partition = self.get(topic, index)
        if partition is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        error = partition.take_role(role)
        if not error:
            self._tell(partition)
            for fetcher in self._fetchers:
                fetcher.follow(partition)
        return error

    def stop(self, topic: str, index: int) -> None:
        """Keep a partition, but stop its leading and following (StopReplica without deletion)."""
        partition = self.get(topic, index)
        if partition is not None:
            self._leave(topic, index)
            partition.stop()
            self._tell(partition)

    def _leave(self, topic: str, index: int) -> None:
        for fetcher in self._fetchers:
            fetcher.leave(topic, index)

    def shrink_isrs(self) -> None:
        """Propose ISRs without the followers that fell behind. Called twice in each
        `replica.lag.time.max.ms`.
        """
        now_ms = self._clock.now_ms()
        for partition in self:
            partition.shrink_isr(now_ms)
            partition.advance()

    def _image_changed(self, old: ClusterImage, new: ClusterImage) -> None:
        """Advance the high watermarks that wait for replicas on brokers that have left."""
        if not old.brokers.keys() <= new.brokers.keys():
            for partition in self:
                partition.advance()

    def remove(self, topic: str, index: int) -> Partition | None:
        """Remove a partition (StopReplica), and answer the requests that wait on it."""
        partitions = self._topics.get(topic, {})
        partition = partitions.get(index)
        if partition is None:
            return None
        self._leave(topic, index)
        del partitions[index]
        if not partitions:
            del self._topics[topic]
            self.statistics.forget(topic)
        partition.retire()
        self._tell(partition)
        return partition

    def high_watermarks(self) -> dict[tuple[str, int], int]:
        """Return the high watermark of each partition, for the file `replication-offset-checkpoint`."""
        return {(partition.topic, partition.index): partition.high_watermark for partition in self}

    def _tell(self, partition: Partition) -> None:
        listener = self._listeners.get(partition.topic)
        if listener is not None:
            with contained(f"a listener to the leadership of {partition.topic}-{partition.index}"):
                listener(partition)
