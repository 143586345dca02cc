"""Moves of replicas between the log directories of this broker, while they are written and read.

A `FutureReplica` in the other log directory copies the log, by means of the same `Fetcher` that fetches from
other leaders. When it has caught up, the copy replaces the log. Clients and other brokers see one replica all
the time.

- A move is cancelled when the replica is requested to stay in its directory, or is deleted. It continues
  after a restart, and in each new leader epoch.
- If the disk of the copy fails, the move ends, and the replica is unchanged. If the disk of the replica
  fails, the copy is kept until that disk is back, as the records that the copy lacks are unknown.
- If a power cut has left a hole in the log, no record is copied until a leader is known: see `log.holes`.
- A replica that does not exist here yet is created in the requested directory.

Kafka's counterparts: `ReplicaManager.alterReplicaLogDirs` and `ReplicaAlterLogDirsManager`.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING
from zlib import crc32

from msgspec import Struct

from kcompat.log.errors import StorageError
from kcompat.log.holes import cut_to_follow
from kcompat.log.names import can_move
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.uuids import ZERO_UUID, differ
from kcompat.replication.following.fetch_state import FetcherConfig
from kcompat.replication.following.fetcher import Fetcher
from kcompat.replication.following.fetcher_connection import FetcherConnection
from kcompat.replication.moving.future_replica import FutureReplica
from kcompat.replication.moving.local_leader import LocalLeader
from kcompat.replication.throttle import ReplicationThrottle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.clock import Clock
    from kcompat.config.broker import BrokerConfig
    from kcompat.log.manager import LogDirectory, LogManager
    from kcompat.replication.partition import Partition
    from kcompat.replication.replica_manager import ReplicaManager
    from kcompat.topics import TopicPartition

logger = logging.getLogger(__name__)


class MovesConfig(Struct, frozen=True, kw_only=True):
    """Limits on the number and the rate of moves."""

    fetcher: FetcherConfig
    copiers: int
    """Number of moves that run at a time (`num.replica.alter.log.dirs.threads`)."""
    bytes_per_second: int
    """Limit on the bytes per second of all moves together (`replica.alter.log.dirs.io.max.bytes.per.second`).
    """
    samples: int
    sample_ms: int


class Moves:
    """The moves of one broker."""

    def __init__(
        self, broker_id: int, logs: LogManager, replicas: ReplicaManager, clock: Clock, config: MovesConfig
    ) -> None:
        """Make a set of moves. The number of copiers is fixed from the start, as in Kafka."""
        self._broker_id = broker_id
        self._logs = logs
        self._replicas = replicas
        self._clock = clock
        self._config = config
        self._throttle = ReplicationThrottle()
        self._copiers: dict[int, FetcherConnection] = {}
        self.configure(config)

    def configure(self, config: MovesConfig) -> None:
        """Apply a changed rate limit."""
        self._throttle.configure(config.bytes_per_second, config.samples, config.sample_ms)

    # -- requests of users -------------------------------------------------------------------------------

    def move(self, topic: str, index: int, path: str) -> ErrorCode:
        """Move this broker's replica to the log directory `path`; return the error that prevents it
        (AlterReplicaLogDirs).
        """
        try:
            return self._move(topic, index, path)
        except StorageError as fault:
            logger.warning("%s-%d cannot be moved to %s: %s", topic, index, path, fault)
            return ErrorCode.KAFKA_STORAGE_ERROR

    def _move(self, topic: str, index: int, path: str) -> ErrorCode:
        if not can_move(topic, index):
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        directory = self._logs.directory(path)
        if directory is None:
            return ErrorCode.LOG_DIR_NOT_FOUND
        if directory.offline is not None or self._replicas.is_offline(topic, index):
            return ErrorCode.KAFKA_STORAGE_ERROR
        partition = self._replicas.get(topic, index)
        future = self._logs.futures.get(topic, index)
        if partition is not None and future is not None and future.context is not directory:
            self._cancel(topic, index)
        if not self._is_in(directory, topic, index):
            self._logs.futures.prefer(topic, index, path)
        if partition is None:
            error = self._replicas.find(topic, index)
            is_known = error == ErrorCode.NOT_LEADER_OR_FOLLOWER
            return ErrorCode.REPLICA_NOT_AVAILABLE if is_known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if not self._is_in(directory, topic, index):
            self._logs.insist_on_all()  # a copy may be in the one that is offline
            self._logs.futures.create(partition.log, directory)
            logger.info("%s-%d moves from %s to %s", topic, index, partition.log.context.path, path)
            self.follow(partition)
        return ErrorCode.NONE

    def _is_in(self, directory: LogDirectory, topic: str, index: int) -> bool:
        """Return whether this directory has the replica or its copy."""
        logs = (self._logs.get(topic, index), self._logs.futures.get(topic, index))
        return any(log is not None and log.context is directory for log in logs)

    def _cancel(self, topic: str, index: int) -> None:
        self.leave(topic, index)
        self._logs.delete_future(topic, index)
        logger.info("the move of %s-%d is cancelled", topic, index)

    # -- roles of partitions -----------------------------------------------------------------------------

    def follow(self, partition: Partition) -> None:
        """Continue the move of a partition that has taken a role, if it has a copy."""
        key = partition.topic, partition.index
        self.leave(*key)
        future = self._logs.futures.get(*key)
        if future is None or partition.log.is_failed:
            return
        if future.is_failed:
            self._logs.futures.forget(*key)
            logger.warning("the move of %s-%d is cancelled: %s has failed", *key, future.context.path)
            return
        if differ(future.topic_id, partition.topic_id):
            with self._reported(key):
                self._logs.set_aside(future, "is of another topic of this name")
            return
        if future.topic_id == ZERO_UUID:  # a crash left the copy without an id
            with self._reported(key):
                future.assign_topic_id(partition.topic_id)
        if partition.log.hole is not None:
            return  # a copy would not know of the hole; the role that settles it has the move go on
        future.update_config(partition.log.config)
        with self._reported(key):
            cut_to_follow(future)
        partition.future = replica = FutureReplica(
            partition,
            future,
            self._clock,
            self._throttle,
            has_caught_up=self._take_place,
            original_cut=self._cut,
        )
        copier = self._copier(key)
        copier.fetcher.follow(replica, partition.state.epoch)
        copier.go_on_soon()

    def leave(self, topic: str, index: int) -> None:
        """Stop copying the partition; the unfinished copy is kept."""
        copier = self._copiers.get(self._number_of((topic, index))) if self._copiers else None
        if copier is not None:
            copier.fetcher.forget((topic, index))
        partition = self._replicas.get(topic, index)
        if partition is not None:
            partition.future = None

    def look_after(self) -> None:
        """Give up moves whose disk has failed, and restart those that have stopped."""
        for future in self._logs.futures:
            key = future.topic, future.partition
            partition = self._replicas.get(*key)
            is_copied = self._copier(key).fetcher.lag(key) is not None
            if partition is not None and not (
                is_copied and not future.is_failed and not partition.log.is_failed
            ):
                self.follow(partition)

    def close(self) -> None:
        """Stop copying all partitions."""
        for copier in self._copiers.values():
            copier.close()
        self._copiers.clear()

    # -- copying -----------------------------------------------------------------------------------------

    def _number_of(self, key: TopicPartition) -> int:
        topic, index = key
        return (crc32(topic.encode()) + index) % self._config.copiers

    def _copier(self, key: TopicPartition) -> FetcherConnection:
        number = self._number_of(key)
        if number not in self._copiers:
            fetcher = Fetcher(self._broker_id, lambda: -1, self._config.fetcher)
            leader = LocalLeader(self._replicas, self._clock, self._throttle)
            self._copiers[number] = FetcherConnection(
                self._broker_id, fetcher, lambda: leader, self._clock, timeout_ms=0
            )
        return self._copiers[number]

    def _cut(self, replica: FutureReplica, offset: int) -> None:
        """Truncate the copy after its log was truncated, and restart fetching; delete a copy that cannot be
        truncated.
        """
        key = replica.topic, replica.index
        with self._reported(key):
            try:
                if offset < replica.log_end_offset:
                    replica.truncate_to(offset)
            except StorageError:
                self._cancel(*key)
                raise
        self.follow(replica.partition)

    @contextmanager
    def _reported(self, key: TopicPartition) -> Iterator[None]:
        """Log a fault of the copy's disk, which affects only the move."""
        try:
            yield
        except StorageError as fault:
            logger.warning("the move of %s-%d meets a fault: %s", *key, fault)

    def _take_place(self, partition: Partition) -> None:
        """Replace the log by its copy, which has all records of the log. Raises StorageError."""
        key = partition.topic, partition.index
        self.leave(*key)
        log = self._logs.replace_with_future(*key)
        partition.replace_log(log)
        logger.info("%s-%d has moved to %s", *key, log.context.path)


def moves_config(broker: BrokerConfig) -> MovesConfig:
    """Return the limits of moves in the broker's configuration; some keys of `replica.fetch.*` apply to moves
    too.
    """
    copiers = broker.get("num.replica.alter.log.dirs.threads")
    partition_max_bytes = broker.integer("replica.fetch.max.bytes")
    return MovesConfig(
        fetcher=FetcherConfig(
            max_wait_ms=0,  # the log on this broker answers at once
            min_bytes=broker.integer("replica.fetch.min.bytes"),
            partition_max_bytes=partition_max_bytes,
            behind_max_bytes=partition_max_bytes,  # one thread reads and writes, and serves others between
            response_max_bytes=broker.integer("replica.fetch.response.max.bytes"),
            backoff_ms=broker.integer("replica.fetch.backoff.ms"),
            truncates_on_fetch=True,
        ),
        copiers=len(broker.log_dirs)
        if copiers is None
        else max(1, broker.integer("num.replica.alter.log.dirs.threads")),
        bytes_per_second=broker.integer("replica.alter.log.dirs.io.max.bytes.per.second"),
        samples=broker.integer("alter.log.dirs.replication.quota.window.num"),
        sample_ms=broker.integer("alter.log.dirs.replication.quota.window.size.seconds") * 1000,
    )
