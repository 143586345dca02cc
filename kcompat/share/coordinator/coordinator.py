"""The share coordinator, which stores the state of share partitions for leaders and group coordinators.

Each method handles one request for one share partition, on the shard that keeps it. Kafka's counterpart:
`ShareCoordinatorService`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from kcompat.coordinator.partitioning import partition_for
from kcompat.coordinator.ports import CoordinatorLog
from kcompat.coordinator.runtime import Runtime
from kcompat.coordinator.serde import RecordSerde
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.share_state_records import (
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateKey,
    ShareUpdateValue,
)
from kcompat.share.coordinator import operations
from kcompat.share.coordinator.shard import ShareCoordinatorConfig, ShareShard
from kcompat.share.persister import Outcome, StateRead, StateSummary

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from kcompat.clock import Clock, Timer
    from kcompat.coordinator.timer import KeyedTimers
    from kcompat.coordinator.transition import Transition
    from kcompat.promise import Promise
    from kcompat.protocol.message import Message
    from kcompat.share.key import SharePartitionKey
    from kcompat.share.persister import StateWrite

T = TypeVar("T")

_AS_COORDINATOR = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}
"""Errors of a response, by the error of the failed append to `__share_group_state`."""


def _value_version(_value: Message) -> int:
    return 0


SHARE_STATE_SERDE: Final = RecordSerde(
    {0: (ShareSnapshotKey, ShareSnapshotValue), 1: (ShareUpdateKey, ShareUpdateValue)}, _value_version
)
"""The record formats of `__share_group_state`."""


class PrunableLog(CoordinatorLog, Protocol):
    """A coordinator's log whose head can be deleted."""

    def delete_before(self, partition: int, offset: int) -> ErrorCode:
        """Delete the records below a committed offset, as DeleteRecords does."""


class ShareCoordinator:
    """The share partitions that one broker coordinates, as a `Persister`.

    `state_partitions()` returns the number of partitions of `__share_group_state`;
    `partition_count(topic_id)` returns the number of partitions of a topic, 0 if it does not exist;
    `is_enabled()` returns whether the cluster has share groups (`share.version`). `load` adds a partition of
    `__share_group_state`, `unload` removes it.
    """

    def __init__(
        self,
        log: PrunableLog,
        clock: Clock,
        config: ShareCoordinatorConfig,
        state_partitions: Callable[[], int],
        partition_count: Callable[[bytes], int],
        is_enabled: Callable[[], bool],
    ) -> None:
        self.config = config
        self._log = log
        self._clock = clock
        self._state_partitions = state_partitions
        self._partition_count = partition_count
        self._is_enabled = is_enabled
        self.runtime: Runtime[ShareShard] = Runtime(
            log, SHARE_STATE_SERDE, clock, self._make_shard, config.write_timeout_ms, is_keyed=False
        )
        self._timers: dict[str, Timer] = {}
        self._pruned: dict[int, int] = {}
        """Offset below which the log of each partition has been deleted, by partition."""

    def _make_shard(self, _partition: int, _timers: KeyedTimers) -> ShareShard:
        return ShareShard(self.config, self._partition_count)

    # --- start and stop

    def start(self) -> None:
        """Begin to delete redundant records, and to snapshot old states so that their records become
        redundant.
        """
        self._every("prune", self.config.prune_interval_ms, self._prune)
        self._every("snapshot", self.config.cold_snapshot_interval_ms, self._snapshot_cold)

    def stop(self) -> None:
        """Answer NOT_COORDINATOR to all waiting requests and to all later ones."""
        for timer in self._timers.values():
            timer.cancel()
        self.runtime.close()

    def load(self, partition: int, leader_epoch: int) -> None:
        """Load a partition of `__share_group_state` that this broker leads."""
        self.runtime.load(partition, leader_epoch)

    def unload(self, partition: int, leader_epoch: int | None) -> None:
        """Unload a partition of `__share_group_state` that this broker no longer leads.

        `leader_epoch` is None if the partition was deleted.
        """
        self._pruned.pop(partition, None)
        self.runtime.unload(partition, leader_epoch)

    def partition_of(self, key: SharePartitionKey) -> int:
        """Return the partition of `__share_group_state` that keeps the share partition."""
        return partition_for(key.coordinator_key, self._state_partitions())

    # --- requests

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Promise[Outcome]:
        """Handle InitializeShareGroupState of one share partition."""

        def decide(transition: Transition[ShareShard]) -> Outcome:
            return operations.initialize(transition, key, state_epoch, start_offset)

        return self._write(key, decide, lambda error: Outcome(error, _unable("initialize", error)))

    def read(self, key: SharePartitionKey, leader_epoch: int) -> Promise[StateRead]:
        """Handle ReadShareGroupState of one share partition."""

        def decide(transition: Transition[ShareShard]) -> StateRead:
            return operations.read(transition, key, leader_epoch)

        return self._write(key, decide, lambda error: StateRead(error, _unable("read", error)))

    def write(self, key: SharePartitionKey, write: StateWrite) -> Promise[Outcome]:
        """Handle WriteShareGroupState of one share partition."""

        def decide(transition: Transition[ShareShard]) -> Outcome:
            return operations.write(transition, key, write)

        return self._write(key, decide, lambda error: Outcome(error, _unable("write", error)))

    def delete(self, key: SharePartitionKey) -> Promise[Outcome]:
        """Handle DeleteShareGroupState of one share partition."""

        def decide(transition: Transition[ShareShard]) -> Outcome:
            return operations.delete(transition, key)

        return self._write(key, decide, lambda error: Outcome(error, _unable("delete", error)))

    def summary(self, key: SharePartitionKey, _leader_epoch: int) -> Promise[StateSummary]:
        """Handle ReadShareGroupStateSummary of one share partition. As in Kafka, the leader epoch is not
        checked.
        """

        def decide(transition: Transition[ShareShard]) -> StateSummary:
            return operations.summary(transition.shard, key)

        return self._write(key, decide, lambda error: StateSummary(error, _unable("read", error, " summary")))

    def forget_topics(self, topic_ids: Collection[bytes]) -> None:
        """Delete the state of share partitions whose topics were deleted."""
        self.runtime.run_everywhere(lambda transition: operations.forget_topics(transition, topic_ids))

    # --- helpers

    def _write(
        self,
        key: SharePartitionKey,
        decide: Callable[[Transition[ShareShard]], T],
        failed: Callable[[ErrorCode], T],
    ) -> Promise[T]:
        def refused(error: ErrorCode) -> T:
            return failed(_AS_COORDINATOR.get(error, error))

        return self.runtime.run(self.partition_of(key), decide, refused)

    def _every(self, name: str, interval_ms: int, work: Callable[[], None]) -> None:
        self._timers[name] = self._clock.call_later(
            interval_ms, partial(self._again, name, interval_ms, work)
        )

    def _again(self, name: str, interval_ms: int, work: Callable[[], None]) -> None:
        self._every(name, interval_ms, work)
        if self._is_enabled():
            work()

    def _snapshot_cold(self) -> None:
        self.runtime.run_everywhere(operations.snapshot_cold)

    def _prune(self) -> None:
        """Delete the head of each log that later records make redundant."""
        for partition, shard in list(self.runtime.active()):
            offset = shard.redundant_before
            if offset is None or offset == self._pruned.get(partition):
                continue
            if self._log.delete_before(partition, offset) == ErrorCode.NONE:
                self._pruned[partition] = offset


def _unable(verb: str, error: ErrorCode, what: str = "") -> str:
    return f"Unable to {verb} share group state{what}: {error.message}"
