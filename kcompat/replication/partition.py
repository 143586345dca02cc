"""One partition as this broker plays it: leader epoch, in-sync replicas, high watermark, last stable offset.

Answers to Kafka's `kafka.cluster.Partition`. A single broker is a cluster of one whose ISR is itself: its
high watermark follows its log end at once, by the same rule that makes a leader wait for its followers.

The partition itself is the key that delayed operations wait on: `produces` are woken when the high watermark
moves, `fetches` when there is something new to read, both when the role changes.

What reads or writes here answers a fault of the disk as an error: each such method has an `except FAULTS`,
and `_failure` says which error that is.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.log.errors import StorageError
from kcompat.log.producers import AppendOrigin
from kcompat.protocol.errors import ErrorCode
from kcompat.records.errors import RecordsDamaged

if TYPE_CHECKING:
    from kcompat.log.converted import ConvertedRange
    from kcompat.log.files import FileRange
    from kcompat.log.log import AppendResult, Log
    from kcompat.records.batch import BatchHeader
    from kcompat.replication.purgatory import Purgatory

logger = logging.getLogger(__name__)

READ_UNCOMMITTED = 0
READ_COMMITTED = 1

NO_EPOCH = -1
NO_LEADER = -1

LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL_TIMESTAMP = -4
LATEST_TIERED_TIMESTAMP = -5
EARLIEST_PENDING_UPLOAD_TIMESTAMP = -6

FAULTS: Final = (StorageError, OSError, RecordsDamaged)
"""What a log raises where its disk fails, or holds something else than was written."""


class Role(Struct, frozen=True):
    """What the controller decided for a partition (LeaderAndIsr): who leads, since which epoch, who is in
    sync.
    """

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    partition_epoch: int = 0


class FetchSpec(Struct):
    """What a fetch asks of one partition; offsets and epochs as in FetchRequest, -1 for an absent epoch."""

    offset: int
    max_bytes: int
    leader_epoch: int = NO_EPOCH
    last_fetched_epoch: int = NO_EPOCH


class Fetched(Struct):
    """What one partition answers to a fetch. Offsets are those seen before the read."""

    error: ErrorCode
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    records: FileRange | ConvertedRange | bytes = b""
    aborted: list[tuple[int, int]] | None = None
    diverging: tuple[int, int] | None = None


class OffsetFound(Struct):
    """The answer to one ListOffsets question: -1 stands for "none"."""

    error: ErrorCode
    offset: int = -1
    timestamp: int = -1
    leader_epoch: int = -1


class Partition:
    """A role on one log."""

    __slots__ = (
        "_broker_id",
        "_fetches",
        "_has_quorum",
        "_is_retired",
        "_min_insync_replicas",
        "_produces",
        "high_watermark",
        "index",
        "leader_epoch_start_offset",
        "log",
        "role",
        "topic",
        "topic_id",
    )

    def __init__(
        self, log: Log, broker_id: int, *, produces: Purgatory, fetches: Purgatory, high_watermark: int
    ) -> None:
        self.log = log
        self.topic = log.topic
        self.index = log.partition
        self.topic_id = log.topic_id
        self.role = Role(leader=NO_LEADER, leader_epoch=NO_EPOCH, isr=(), replicas=())
        self.high_watermark = min(max(high_watermark, log.log_start_offset), log.log_end_offset)
        self.leader_epoch_start_offset = log.log_end_offset
        self._min_insync_replicas = 1
        self._has_quorum = False  # whether this broker leads and enough replicas are in sync
        self._is_retired = False
        self._broker_id = broker_id
        self._produces = produces
        self._fetches = fetches
        log.on_synced = self._synced

    # -- roles -------------------------------------------------------------------------------------------

    @property
    def is_leader(self) -> bool:
        """Whether this broker accepts writes for the partition."""
        return self.role.leader == self._broker_id

    def take_role(self, role: Role) -> bool:
        """Follow the controller's decision. False when it is older than the one in force (I2: nothing
        changes).
        """
        if role.leader_epoch < self.role.leader_epoch:
            return False
        new_epoch = role.leader_epoch > self.role.leader_epoch
        self.role = role
        if self.is_leader and new_epoch:
            self.leader_epoch_start_offset = self.log.log_end_offset
            self.log.assign_epoch(role.leader_epoch, self.leader_epoch_start_offset)
        self.require_in_sync(self._min_insync_replicas)
        self._wake_all()
        return True

    def retire(self) -> None:
        """The partition leaves this broker: nothing is led any more and nobody waits."""
        self.role = Role(leader=NO_LEADER, leader_epoch=self.role.leader_epoch, isr=(), replicas=())
        self._has_quorum = False
        self._is_retired = True
        self._wake_all()

    def _wake_all(self) -> None:
        self._produces.wake(self)
        self._fetches.wake(self)

    def require_in_sync(self, min_insync_replicas: int) -> None:
        """Obey `min.insync.replicas` from now on; it never asks for more replicas than there are."""
        self._min_insync_replicas = min_insync_replicas
        required = min(min_insync_replicas, len(self.role.replicas))
        self._has_quorum = self.is_leader and len(self.role.isr) >= required
        self._advance_high_watermark()

    # -- writing -----------------------------------------------------------------------------------------

    def append(
        self,
        batch: memoryview,
        header: BatchHeader,
        acks: int,
        now_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> AppendResult | ErrorCode:
        """Append one checked batch as the leader; an error code when it cannot be tried at all."""
        role = self.role
        if role.leader != self._broker_id:
            return self._not_leading()
        if acks == -1 and not self._has_quorum:
            return ErrorCode.NOT_ENOUGH_REPLICAS
        try:
            result = self.log.append_as_leader(batch, header, role.leader_epoch, now_ms, origin)
        except FAULTS as fault:
            return self._failure(fault)
        if not result.error:
            self._advance_high_watermark()
            self._fetches.wake_soon(self)
        return result

    def _advance_high_watermark(self) -> None:
        """Raise the high watermark to what every in-sync replica has (Kafka's `maybeIncrementLeaderHW`).

        The ISR here is this broker alone; followers' log ends join the minimum with the follower fetcher.
        """
        if not self._has_quorum:
            return
        log = self.log
        candidate = log.log_end_offset
        if candidate > log.unsynced_from:
            candidate = log.unsynced_from
        if candidate > self.high_watermark:
            self.high_watermark = candidate
            self._produces.wake(self)

    def committed(self, required_offset: int) -> ErrorCode | None:
        """Whether everything below `required_offset` is on every in-sync replica: a final answer, or None for
        "not yet".
        """
        if not self.is_leader:
            return self._not_leading()
        if self.high_watermark < required_offset:
            return ErrorCode.KAFKA_STORAGE_ERROR if self.log.is_failed else None
        if not self._has_quorum:
            return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return ErrorCode.NONE

    def stored(self, required_offset: int) -> ErrorCode | None:
        """Whether everything below `required_offset` is as safe here as `flush.messages` asks: a final
        answer, or None for "not yet".
        """
        if self.log.unsynced_from >= required_offset:
            return ErrorCode.NONE
        return ErrorCode.KAFKA_STORAGE_ERROR if self.log.is_failed else None

    def _synced(self) -> None:
        """The log may have become safer, or has failed: let go of what waits for that."""
        before = self.high_watermark
        self._advance_high_watermark()
        if self.high_watermark == before:
            self._produces.wake(self)
        self._fetches.wake_soon(self)

    def delete_records_before(self, offset: int) -> tuple[ErrorCode, int]:
        """Advance the log start to `offset` (-1 = the high watermark). The error and the new low watermark,
        -1 on error.
        """
        if not self.is_leader or self.log.is_failed:
            return self._not_leading(), -1
        if not self.log.config.deletes:
            return ErrorCode.POLICY_VIOLATION, -1
        if offset == -1:
            offset = self.high_watermark
        if offset < 0 or offset > self.high_watermark:
            return ErrorCode.OFFSET_OUT_OF_RANGE, -1
        try:
            self.log.delete_records_before(offset)
        except FAULTS as fault:
            return self._failure(fault), -1
        return ErrorCode.NONE, self.log.log_start_offset

    # -- reading -----------------------------------------------------------------------------------------

    @property
    def last_stable_offset(self) -> int:
        """Where read_committed stops: the first open transaction, or the high watermark (I13)."""
        return self.log.last_stable_offset(self.high_watermark)

    def check_epoch(self, leader_epoch: int) -> ErrorCode:
        """Fence a client that knows another leader epoch (KIP-320), then insist on being the leader and on a
        disk that works.
        """
        mine = self.role.leader_epoch
        if leader_epoch != NO_EPOCH:
            if leader_epoch < mine:
                return ErrorCode.FENCED_LEADER_EPOCH
            if leader_epoch > mine:
                return ErrorCode.UNKNOWN_LEADER_EPOCH
        if self.is_leader:
            return ErrorCode.KAFKA_STORAGE_ERROR if self.log.is_failed else ErrorCode.NONE
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if self._is_retired else self._not_leading()

    def _not_leading(self) -> ErrorCode:
        """What clients are told who take this broker for the leader."""
        return ErrorCode.KAFKA_STORAGE_ERROR if self.log.is_failed else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def fetch(self, spec: FetchSpec, isolation_level: int, max_bytes: int, min_one_batch: bool) -> Fetched:
        """Read for a consumer: whole batches from `spec.offset`, below the high watermark or the last stable
        offset.
        """
        error = self.check_epoch(spec.leader_epoch)
        if error:
            return Fetched(error)
        log = self.log
        high_watermark, stable = self.high_watermark, self.last_stable_offset
        answer = Fetched(ErrorCode.NONE, high_watermark, stable, log.log_start_offset)
        offset = spec.offset
        if spec.last_fetched_epoch != NO_EPOCH:
            epoch, end_offset = log.end_offset_for_epoch(spec.last_fetched_epoch)
            if epoch == NO_EPOCH or offset < log.log_start_offset:
                return Fetched(ErrorCode.OFFSET_OUT_OF_RANGE)
            if epoch < spec.last_fetched_epoch or end_offset < offset:
                answer.diverging = (epoch, end_offset)  # KIP-595
                return answer
        if offset < log.log_start_offset or offset > log.log_end_offset:
            return Fetched(ErrorCode.OFFSET_OUT_OF_RANGE)
        committed_only = isolation_level == READ_COMMITTED
        upper = stable if committed_only else high_watermark
        data: FileRange | None = None
        if offset < upper:
            if max_bytes < 0:
                return Fetched(ErrorCode.UNKNOWN_SERVER_ERROR)
            try:
                data = log.read(offset, max_bytes, upper, min_one_batch)
                if data is not None:
                    answer.records = data
                    if committed_only:
                        answer.aborted = log.aborted_transactions(offset, upper, data)
            except FAULTS as fault:
                return Fetched(self._failure(fault))
        if committed_only and data is None:
            answer.aborted = []
        return answer

    def offset_for(self, timestamp: int, isolation_level: int, leader_epoch: int) -> OffsetFound:
        """Answer one ListOffsets question (Kafka's `fetchOffsetForTimestamp`)."""
        error = self.check_epoch(leader_epoch)
        if error:
            return OffsetFound(error)
        log = self.log
        limit = self.last_stable_offset if isolation_level == READ_COMMITTED else self.high_watermark
        if timestamp == LATEST_TIMESTAMP:
            if self.high_watermark < self.leader_epoch_start_offset:
                return OffsetFound(ErrorCode.OFFSET_NOT_AVAILABLE)
            return OffsetFound(ErrorCode.NONE, limit, -1, self.role.leader_epoch)
        if timestamp in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
            return OffsetFound(ErrorCode.NONE, log.log_start_offset, -1, log.epoch_of(log.log_start_offset))
        if timestamp in (LATEST_TIERED_TIMESTAMP, EARLIEST_PENDING_UPLOAD_TIMESTAMP):
            return OffsetFound(ErrorCode.NONE)
        if timestamp < 0 and timestamp != MAX_TIMESTAMP:
            return OffsetFound(ErrorCode.UNSUPPORTED_VERSION)
        try:
            found = (
                log.max_timestamp_offset()
                if timestamp == MAX_TIMESTAMP
                else log.offset_for_timestamp(timestamp)
            )
        except FAULTS as fault:
            return OffsetFound(self._failure(fault))
        if found is None or found.offset >= limit:
            if self.high_watermark < self.leader_epoch_start_offset:
                return OffsetFound(ErrorCode.OFFSET_NOT_AVAILABLE)
            return OffsetFound(ErrorCode.NONE)
        return OffsetFound(ErrorCode.NONE, found.offset, found.timestamp, found.leader_epoch)

    def offsets_before(self, timestamp: int, limit: int, now_ms: int) -> tuple[ErrorCode, list[int]]:
        """ListOffsets v0: at most `limit` offsets, newest first, at which segments whose newest record is of
        `timestamp` or before begin, and the end if that is now.

        -1 counts from the end of what consumers may read, -2 is the log start (Kafka's
        `legacyFetchOffsetsBefore`).
        """
        error = self.check_epoch(NO_EPOCH)
        if error:
            return error, []
        log = self.log
        try:
            starts = log.segment_starts()
        except FAULTS as fault:
            return self._failure(fault), []
        points = [(max(base, log.log_start_offset), modified_ms) for base, modified_ms in starts]
        if points[-1][0] < self.high_watermark:
            points.append((self.high_watermark, now_ms))
        if timestamp == EARLIEST_TIMESTAMP:
            chosen = points[:1]
        elif timestamp == LATEST_TIMESTAMP:
            chosen = points
        else:
            chosen = points[: sum(modified_ms <= timestamp for _, modified_ms in points)]
        offsets = sorted({offset for offset, _ in chosen if offset <= self.high_watermark}, reverse=True)
        return ErrorCode.NONE, offsets[: max(limit, 0)]

    def end_offset_for_epoch(self, requested_epoch: int, leader_epoch: int) -> tuple[ErrorCode, int, int]:
        """OffsetForLeaderEpoch: (error, epoch, end offset); -1, -1 when that epoch is unknown here."""
        error = self.check_epoch(leader_epoch)
        if error:
            return error, NO_EPOCH, -1
        return ErrorCode.NONE, *self.log.end_offset_for_epoch(requested_epoch)

    def _failure(self, fault: StorageError | OSError | RecordsDamaged) -> ErrorCode:
        """What a client is told: of a fault of the disk, which takes the directory offline unless it passes
        (`LogContext.fault`), or of records that are none, which harm nobody else.
        """
        if isinstance(fault, RecordsDamaged):
            logger.warning("%s-%d holds damaged records: %s", self.topic, self.index, fault)
            return ErrorCode.CORRUPT_MESSAGE
        if isinstance(fault, OSError):
            self.log.context.fault(fault)
        return ErrorCode.KAFKA_STORAGE_ERROR

    def check_invariants(self) -> None:
        """I14: log start <= high watermark <= log end."""
        assert self.log.log_start_offset <= self.high_watermark <= self.log.log_end_offset
        assert self.last_stable_offset <= self.high_watermark
