"""A share coordinator on virtual time with its log in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from kcompat.share.coordinator.coordinator import ShareCoordinator
from kcompat.share.coordinator.shard import ShareCoordinatorConfig
from kcompat.share.key import SharePartitionKey
from kcompat.share.persister import StateWrite
from support.coordinator_log import MemoryCoordinatorLog
from support.default_settings import with_defaults
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from kcompat.share.batches import StateBatch
    from kcompat.share.coordinator.shard import ShareShard
    from kcompat.share.coordinator.state import ShareState

TOPIC = bytes(range(16))
TOPIC_PARTITIONS = 4
KEY = SharePartitionKey("group", TOPIC, 0)


class PrunableMemoryLog(MemoryCoordinatorLog):
    """A log in memory whose head can be deleted, also up to the middle of a batch."""

    def __init__(self) -> None:
        super().__init__()
        self.deletions: list[tuple[int, int]] = []
        self.deletion_error = ErrorCode.NONE
        self._starts: dict[int, int] = {}

    def delete_before(self, partition: int, offset: int) -> ErrorCode:
        """Delete the records below an offset, unless `deletion_error` says otherwise."""
        if self.deletion_error == ErrorCode.NONE:
            assert self.start_offset(partition) <= offset <= self.end_offset(partition)
            self.deletions.append((partition, offset))
            self._starts[partition] = offset
        return self.deletion_error

    def start_offset(self, partition: int) -> int:
        """The log start offset."""
        return self._starts.get(partition, 0)


class ShareCoordinatorFixture:
    """One broker's share coordinator. It knows one topic, of `TOPIC_PARTITIONS` partitions."""

    def __init__(self, config: ShareCoordinatorConfig | None = None, state_partitions: int = 1) -> None:
        self.clock = VirtualClock()
        self.log = PrunableMemoryLog()
        self.config = config or with_defaults(ShareCoordinatorConfig)
        self.state_partitions = state_partitions
        self.topics = {TOPIC: TOPIC_PARTITIONS}
        self.is_enabled = True
        self.epoch = 0
        self.coordinator = self.restart()

    def restart(self) -> ShareCoordinator:
        """Lose everything but the log, and load it."""
        if self.epoch:
            self.coordinator.stop()
        self.epoch += 1
        self.coordinator = ShareCoordinator(
            self.log,
            self.clock,
            self.config,
            lambda: self.state_partitions,
            lambda topic_id: self.topics.get(topic_id, 0),
            lambda: self.is_enabled,
        )
        self.coordinator.start()
        for partition in range(self.state_partitions):
            self.coordinator.load(partition, self.epoch)
        return self.coordinator

    @property
    def shard(self) -> ShareShard:
        """The first loaded shard."""
        return next(shard for _, shard in self.coordinator.runtime.active())

    def states(self) -> dict[SharePartitionKey, ShareState]:
        """Return the states in all shards."""
        return {
            key: state
            for _, shard in self.coordinator.runtime.active()
            for key, state in shard.states.items()
        }

    def write(
        self,
        *batches: StateBatch,
        key: SharePartitionKey = KEY,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = 0,
    ) -> ErrorCode:
        """WriteShareGroupState, answered at once."""
        news = StateWrite(state_epoch, leader_epoch, start_offset, delivery_complete_count, batches)
        return self.coordinator.write(key, news).value.error
