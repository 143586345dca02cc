"""A partition that another broker leads, with the methods that a fetcher needs.

Kafka's counterpart: `ReplicaFetcherThread.processPartitionData`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.log.following import first_offsets
from kcompat.protocol.errors import ErrorCode
from kcompat.replication.role import Follower

if TYPE_CHECKING:
    from kcompat.clock import Clock
    from kcompat.log.log import Log
    from kcompat.replication.partition import Partition


class FollowerPartition:
    """`FollowerLog` of a partition whose leader is another broker."""

    __slots__ = ("_clock", "_partition", "index", "topic", "topic_id")

    def __init__(self, partition: Partition, clock: Clock) -> None:
        self._partition = partition
        self._clock = clock
        self.topic = partition.topic
        self.topic_id = partition.topic_id
        self.index = partition.index

    @property
    def log_start_offset(self) -> int:
        """Log start offset of this replica."""
        return self._log.log_start_offset

    @property
    def log_end_offset(self) -> int:
        """Log end offset, from which the next fetch starts."""
        return self._log.log_end_offset

    @property
    def high_watermark(self) -> int:
        """High watermark of the partition, as known to this broker."""
        return self._partition.high_watermark

    @property
    def latest_epoch(self) -> int:
        """Leader epoch of the last batch; -1 if no epochs are known."""
        return self._log.epochs.latest

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """Return the largest epoch up to `epoch` and its end offset in this log; (-1, -1) if they are
        unknown.
        """
        return self._log.end_offset_for_epoch(epoch)

    def append(self, records: memoryview, leader_epoch: int) -> ErrorCode:
        """Append records unchanged as the leader sent them, and count their bytes for the throttle."""
        now_ms = self._clock.now_ms()
        throttle = self._partition.throttled.follower
        if throttle is not None:
            throttle.record(len(records), now_ms)
        self._partition.statistics.bytes_copied += len(records)
        return append_to(self._log, records, leader_epoch, now_ms)

    def update_bounds(self, high_watermark: int, log_start_offset: int) -> None:
        """Set the high watermark and log start to the leader's, as far as this log has the records.

        The high watermark falls only when the log is truncated: records that one leader has committed are in
        the log of the next leader as well.
        """
        follower, log = self._follower, self._log
        if log.is_failed:
            raise log.context.out_of_service(f"{log.directory} takes no more appends")
        committed = min(high_watermark, log.log_end_offset)
        if committed > follower.high_watermark:
            follower.high_watermark = committed
            self._partition.wake_consumers()
        if log_start_offset > log.log_start_offset:
            log.delete_records_before(min(log_start_offset, follower.high_watermark))

    def is_held(self, lag: int) -> bool:
        """Return whether the throttle delays this replica.

        A replica in sync is never delayed, as it would drop out of the ISR.
        """
        throttle = self._partition.throttled.follower
        return throttle is not None and lag != 0 and throttle.is_exceeded(self._clock.now_ms())

    def truncate_to(self, offset: int) -> None:
        """Remove the records from `offset` on."""
        log = self._log
        if offset < log.log_end_offset or log.epochs.latest >= 0:
            log.truncate_to(offset)
            self._ends_at(offset)
            self._truncate_copy(offset)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Delete all records and start the log again at `offset`."""
        self._log.truncate_fully_and_start_at(offset)
        self._follower.high_watermark = offset
        self._partition.wake_consumers()
        self._truncate_copy(offset)

    def _ends_at(self, offset: int) -> None:
        follower = self._follower
        if offset < follower.high_watermark:
            follower.high_watermark = offset
            self._partition.wake_consumers()

    def _truncate_copy(self, offset: int) -> None:
        if self._partition.future is not None:
            self._partition.future.original_cut(offset)

    @property
    def _log(self) -> Log:
        """Current log of the partition; a move between log directories replaces it."""
        return self._partition.log

    @property
    def _follower(self) -> Follower:
        state = self._partition.state
        assert isinstance(state, Follower), "a fetcher follows for replicas that do not lead"
        return state


def append_to(log: Log, records: memoryview, leader_epoch: int, now_ms: int) -> ErrorCode:
    """Append records that were fetched from another log.

    If the other log starts inside a batch, it sends the whole batch; an empty log then starts at the base
    offset of the batch. Raises StorageError.
    """
    result = log.append_as_follower(records, leader_epoch, now_ms)
    end = log.log_end_offset
    if result.error == ErrorCode.OFFSET_OUT_OF_RANGE and log.log_start_offset == end:
        first, last = first_offsets(records)
        if first < end <= last:
            log.truncate_fully_and_start_at(first)
            result = log.append_as_follower(records, leader_epoch, now_ms)
    return result.error
