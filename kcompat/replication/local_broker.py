"""This broker as the controller reaches it: it takes roles, stops replicas and applies metadata updates.

It is a `BrokerPort`, which a controller in the same process calls directly. A request with a smaller
controller epoch than the last one is refused with STALE_CONTROLLER_EPOCH. A fault affects only its own
partition: the error is KAFKA_STORAGE_ERROR if a log cannot be created, read or written, else
UNKNOWN_SERVER_ERROR.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from kcompat.cluster.control_requests import LeaderAndIsr, Reply, StopReplica, UpdateConfigs, UpdateMetadata
from kcompat.config.topic import topic_config
from kcompat.log.errors import StorageError
from kcompat.log.holes import cut_if_lost
from kcompat.logger_names import STATE_CHANGES
from kcompat.protocol.constants import NO_LEADER
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.uuids import ZERO_UUID, differ
from kcompat.replication.storage_config import log_config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kcompat.cluster.control_requests import (
        Answered,
        AssignedPartition,
        ControlRequest,
        StoppedPartition,
        UpdatedPartition,
    )
    from kcompat.cluster.metadata_cache import MetadataCache
    from kcompat.config.broker import ConfigFeed
    from kcompat.config.topic import TopicConfig
    from kcompat.log.config import LogConfig
    from kcompat.log.manager import LogManager
    from kcompat.replication.partition import Partition
    from kcompat.replication.replica_manager import ReplicaManager

    Overrides = tuple[tuple[str, str], ...]
    PartitionErrors = dict[tuple[str, int], ErrorCode]

logger = logging.getLogger(STATE_CHANGES)


class LocalBroker:
    """Port through which the controller's decisions change the logs and partitions of this broker."""

    def __init__(
        self, config: ConfigFeed, cluster: MetadataCache, logs: LogManager, replicas: ReplicaManager
    ) -> None:
        self._config = config
        self._cluster = cluster
        self._logs = logs
        self._replicas = replicas
        self._controller_epoch = -1
        self._report_moved: Callable[[Sequence[UpdatedPartition]], object] = lambda _: None
        self._throttle()

    def report_moved_to(self, listener: Callable[[Sequence[UpdatedPartition]], object]) -> None:
        """Call `listener` for each UpdateMetadata, with its partitions whose replicas are all on other
        brokers.
        """
        self._report_moved = listener

    def give(self, control: ControlRequest, answered: Answered) -> None:
        """Apply a request of the controller, and answer it before this method returns."""
        if not isinstance(control, UpdateConfigs):
            if control.controller_epoch < self._controller_epoch:
                answered(Reply(ErrorCode.STALE_CONTROLLER_EPOCH))
                return
            self._controller_epoch = control.controller_epoch
        match control:
            case LeaderAndIsr():
                answered(Reply(partitions=self._take_roles(control.partitions)))
            case StopReplica():
                answered(Reply(partitions=self._stop_all(control.partitions)))
            case UpdateMetadata():
                self._cluster.apply(control)
                self._give_up(control.partitions)
                answered(Reply())
            case UpdateConfigs():
                self._cluster.apply(control)
                answered(Reply())

    def close(self) -> None:
        """Do nothing at the end of a controller's term: the next controller uses the same port."""

    def _take_roles(self, partitions: Sequence[AssignedPartition]) -> PartitionErrors:
        """Create missing logs and take the roles; return the errors of partitions that failed."""
        failed: dict[tuple[str, int], ErrorCode] = {}
        configs: dict[Overrides, tuple[TopicConfig, LogConfig]] = {}
        for assigned in partitions:
            key = (assigned.topic, assigned.index)
            error = _contained(key, "be served", partial(self._take, assigned, configs))
            if error:
                failed[key] = error
        return failed

    def _take(
        self, assigned: AssignedPartition, configs: dict[Overrides, tuple[TopicConfig, LogConfig]]
    ) -> ErrorCode:
        """Take one role.

        `configs` caches the configurations of topics for the rest of the request: most topics have the same.
        """
        partition = self._replicas.get(assigned.topic, assigned.index)
        if partition is not None and partition.log.is_failed:
            return ErrorCode.KAFKA_STORAGE_ERROR  # in any epoch: the controller may ask which have failed
        if partition is None:
            overrides = self._cluster.image.configs("topics", assigned.topic)
            key = tuple(overrides.items())
            if key not in configs:
                config = topic_config(self._config.current, overrides)
                configs[key] = config, log_config(config)
            try:
                partition = self._open(assigned, *configs[key])
            except StorageError:
                self._replicas.mark_offline(assigned.topic, assigned.index)
                raise
        if differ(partition.topic_id, assigned.topic_id):
            return ErrorCode.INCONSISTENT_TOPIC_ID
        error = self._replicas.take_role(assigned.topic, assigned.index, assigned.role)
        if not error and logger.isEnabledFor(logging.INFO):
            _log_role(partition, self._replicas.broker_id)
        return error

    def _open(self, assigned: AssignedPartition, config: TopicConfig, for_log: LogConfig) -> Partition:
        """Return the partition with its log, which is created if there is none. `for_log` is the part of its
        configuration that applies to the log.

        A log without a topic id is taken as this topic's. The log of another topic of the same name, which
        was deleted or belongs to another cluster, is set aside. Raises StorageError.
        """
        key = (assigned.topic, assigned.index)
        log = self._logs.get(*key)
        if log is not None and log.topic_id == ZERO_UUID:
            log.assign_topic_id(assigned.topic_id)
        if log is not None and differ(log.topic_id, assigned.topic_id):
            self._logs.set_aside(log, "is of another topic of this name")
            log = None
        if log is None:
            if not assigned.is_new:
                self._logs.insist_on_all()
            future = self._logs.futures.get(*key)
            if future is not None:
                self._logs.set_aside(future, "is a copy of a log that is gone")
            log = self._logs.create(*key, assigned.topic_id, for_log)
        else:
            if log.config != for_log:
                log.update_config(for_log)
            cut_if_lost(log, compacted_to=self._logs.clean_offset(log) or 0)
        return self._replicas.add(log, config, self._logs.high_watermark(log))

    def _stop_all(self, partitions: Sequence[StoppedPartition]) -> PartitionErrors:
        """Stop following, and delete replicas as requested; return the errors of partitions that failed."""
        failed: dict[tuple[str, int], ErrorCode] = {}
        for stopped in partitions:
            key = (stopped.topic, stopped.index)
            error = _contained(key, "be stopped", partial(self._stop, stopped))
            if error:
                failed[key] = error
        try:
            self._logs.sync_names()
        except StorageError as fault:
            logger.error("deletions are not on the device: %s", fault)  # noqa: TRY400
            return {(each.topic, each.index): ErrorCode.KAFKA_STORAGE_ERROR for each in partitions}
        return failed

    def _stop(self, stopped: StoppedPartition) -> ErrorCode:
        """Delete a replica, or keep it without a leader until a newer epoch arrives.

        On a failed disk neither is possible: the controller retries once the disk is back.
        """
        key = (stopped.topic, stopped.index)
        if self._replicas.is_offline(*key):
            return ErrorCode.KAFKA_STORAGE_ERROR
        partition = self._replicas.get(*key)
        if partition is not None and 0 <= stopped.leader_epoch < partition.role.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if stopped.delete:
            self._replicas.remove(*key)
            self._logs.delete(*key)
        else:
            self._replicas.stop(*key)
        return ErrorCode.NONE

    def _give_up(self, shown: Sequence[UpdatedPartition]) -> None:
        """Stop replicas of partitions that were moved to other brokers.

        The controller sends no role for a partition that was moved away while this broker was unreachable.
        Kafka's brokers serve such a partition until they restart, and acknowledge with acks=1 records that no
        consumer will ever read.
        """
        moved = [each for each in shown if self._replicas.broker_id not in each.info.replicas]
        for each in moved:
            partition = self._replicas.get(each.topic, each.index)
            if partition is None or partition.role.leader == NO_LEADER:
                continue
            is_another = differ(partition.topic_id, each.topic_id)
            if is_another or partition.role.leader_epoch < each.info.leader_epoch:
                self._replicas.stop(each.topic, each.index)
        self._report_moved(moved)

    def _throttle(self) -> None:
        """Apply the configured limits on the traffic of replicas that lag behind."""
        config = self._config.current
        self._replicas.throttle(
            config.integer("leader.replication.throttled.rate"),
            config.integer("follower.replication.throttled.rate"),
            config.integer("replication.quota.window.num"),
            config.integer("replication.quota.window.size.seconds") * 1000,
        )

    def reconfigure(self, topics: Iterable[str]) -> None:
        """Apply the configurations in the cluster image to the partitions of these topics."""
        image = self._cluster.image
        for topic in topics:
            if self._replicas.has_topic(topic):
                config = topic_config(self._config.current, image.configs("topics", topic))
                self._replicas.configure(topic, config)

    def reconfigure_all(self) -> None:
        """Apply changed defaults of the broker to all partitions."""
        self._throttle()
        self.reconfigure(self._replicas.topics())


def _log_role(partition: Partition, broker_id: int) -> None:
    """Log the role that a partition has taken, in Kafka's words."""
    role, log = partition.role, partition.log
    name = f"{partition.topic}-{partition.index}"
    if role.leader == broker_id:
        logger.info(
            "Leader %s starts at leader epoch %d from offset %d with partition epoch %d, high watermark %d, "
            "ISR %s",
            *(name, role.leader_epoch, log.log_end_offset, role.partition_epoch),
            *(partition.high_watermark, list(role.isr)),
        )
    else:
        logger.info(
            "Follower %s starts at leader epoch %d from offset %d with partition epoch %d and high watermark "
            "%d. Current leader is %d.",
            *(name, role.leader_epoch, log.log_end_offset, role.partition_epoch),
            *(partition.high_watermark, role.leader),
        )


def _contained(partition: tuple[str, int], what: str, act: Callable[[], ErrorCode]) -> ErrorCode:
    """Return the result of `act`; convert an exception to an error of this partition alone."""
    try:
        return act()
    except StorageError as fault:
        logger.error("%s-%d cannot %s: %s", *partition, what, fault)  # noqa: TRY400
        return ErrorCode.KAFKA_STORAGE_ERROR
    except Exception:
        logger.exception("%s-%d cannot %s: a fault in this broker", *partition, what)
        return ErrorCode.UNKNOWN_SERVER_ERROR
