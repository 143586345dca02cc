"""A copy of a partition's log in another log directory: the `FollowerLog` of a fetcher, and the `FutureLog`
of the partition.

Once the copy has all records of the log, and they are synced to the device, the copy replaces the log. (Kafka
does not sync the copy, so a power cut could lose records that had long been on the device.) Kafka's
counterpart: `ReplicaAlterLogDirsThread`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.replication.following.follower_partition import append_to

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.clock import Clock
    from kcompat.log.log import Log
    from kcompat.protocol.errors import ErrorCode
    from kcompat.replication.partition import Partition
    from kcompat.replication.throttle import ReplicationThrottle


class FutureReplica:
    """Copy of the log of `partition` in another log directory of this broker, whichever broker leads it."""

    __slots__ = (
        "_clock",
        "_has_caught_up",
        "_must_sync",
        "_original_cut",
        "_throttle",
        "high_watermark",
        "index",
        "log",
        "partition",
        "topic",
        "topic_id",
    )

    def __init__(
        self,
        partition: Partition,
        log: Log,
        clock: Clock,
        throttle: ReplicationThrottle,
        *,
        has_caught_up: Callable[[Partition], object],
        original_cut: Callable[[FutureReplica, int], object],
    ) -> None:
        """Begin with the copy `log` of the log of `partition`.

        `has_caught_up` is called when the copy can replace the log, `original_cut` with the offset to which
        the log was truncated.
        """
        self.partition = partition
        self.log = log
        self.topic = partition.topic
        self.topic_id = partition.topic_id
        self.index = partition.index
        self.high_watermark = min(partition.high_watermark, log.log_end_offset)
        self._clock = clock
        self._throttle = throttle
        self._has_caught_up = has_caught_up
        self._original_cut = original_cut
        self._must_sync: int | None = None
        """Offset up to which the copy has to be synced to the device; None until it has caught up."""

    @property
    def log_start_offset(self) -> int:
        """Log start offset of the copy."""
        return self.log.log_start_offset

    @property
    def log_end_offset(self) -> int:
        """Log end offset of the copy, from which the next fetch starts."""
        return self.log.log_end_offset

    @property
    def latest_epoch(self) -> int:
        """Leader epoch of the last batch of the copy; -1 if no epochs are known."""
        return self.log.epochs.latest

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """Return the largest epoch up to `epoch` and its end offset in the copy; (-1, -1) if they are
        unknown.
        """
        return self.log.end_offset_for_epoch(epoch)

    def append(self, records: memoryview, leader_epoch: int) -> ErrorCode:
        """Append records unchanged as they were fetched, and count their bytes for the throttle."""
        now_ms = self._clock.now_ms()
        self._throttle.record(len(records), now_ms)
        return append_to(self.log, records, leader_epoch, now_ms)

    def update_bounds(self, high_watermark: int, log_start_offset: int) -> None:
        """Set the high watermark and log start to those of the log; at the log end, sync the copy and replace
        the log.
        """
        log = self.log
        if log.is_failed:
            raise log.context.out_of_service(f"{log.directory} takes no more appends")
        self.high_watermark = min(high_watermark, log.log_end_offset)
        if log_start_offset > log.log_start_offset:
            log.delete_records_before(min(log_start_offset, self.high_watermark))
            self.partition.wake_deletions()
        if log.log_end_offset != self.partition.log.log_end_offset:
            return
        if self._must_sync is None:
            self._must_sync = log.log_end_offset
            if self._is_syncing:
                log.durability.sync_soon(log)
        if not self._is_syncing:
            self._has_caught_up(self.partition)

    @property
    def _is_syncing(self) -> bool:
        return self._must_sync is not None and self.log.recovery_point < self._must_sync

    def is_held(self, lag: int) -> bool:  # noqa: ARG002 - with nothing left to copy
        """Return whether a sync of the copy is under way; nothing is fetched meanwhile."""
        return self._is_syncing

    def truncate_to(self, offset: int) -> None:
        """Remove the records from `offset` on."""
        self.log.truncate_to(offset)
        self._ends_at(offset)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Delete all records and start the log again at `offset`."""
        self.log.truncate_fully_and_start_at(offset)
        self._ends_at(offset)

    def _ends_at(self, offset: int) -> None:
        self.high_watermark = min(self.high_watermark, offset)
        self._must_sync = None

    def original_cut(self, offset: int) -> None:
        """Truncate the copy after the log was truncated. Fetching alone would not detect this in records
        without epochs.
        """
        self._original_cut(self, offset)
