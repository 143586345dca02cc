"""One partition on this broker: a log, and whether this broker leads it (Kafka's `Partition`).

`Leader` and `Follower` know the rules and touch nothing. Here they are asked, the log is written and read as
they say, and who waits for that is woken: the partition itself is the key that delayed requests wait on.
`produces` are woken when the high watermark moves, `fetches` when there is something new to read, both when
the role changes.

What reads or writes here answers a fault of the disk as an error: each such method has an `except FAULTS`,
and `_failure` says which error that is.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.cluster.news import Role
from kcompat.log.errors import StorageError
from kcompat.log.producers import AppendOrigin
from kcompat.protocol.errors import ErrorCode
from kcompat.records.errors import RecordsDamaged
from kcompat.replication import listing
from kcompat.replication.follower import Follower
from kcompat.replication.leader import Leader
from kcompat.replication.listing import OffsetFound
from kcompat.replication.role import NO_EPOCH, NO_ROLE, fence

if TYPE_CHECKING:
    from kcompat.log.append_result import AppendResult
    from kcompat.log.converted import ConvertedRange
    from kcompat.log.files import FileRange
    from kcompat.log.log import Log
    from kcompat.records.batch import BatchHeader
    from kcompat.replication.purgatory import Purgatory

logger = logging.getLogger(__name__)

READ_UNCOMMITTED = 0
READ_COMMITTED = 1

FAULTS: Final = (StorageError, OSError, RecordsDamaged)
"""What a log raises where its disk fails, or does not hold what was written."""


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


class Partition:
    """A log and a `state`, which is `Leader` or `Follower`."""

    __slots__ = (
        "_broker_id",
        "_fetches",
        "_min_insync_replicas",
        "_produces",
        "index",
        "log",
        "role",
        "state",
        "topic",
        "topic_id",
    )

    def __init__(
        self, log: Log, broker_id: int, *, produces: Purgatory, fetches: Purgatory, high_watermark: int
    ) -> None:
        """A replica without a role yet; the high watermark is the one that was stored."""
        self.log = log
        self.topic = log.topic
        self.index = log.partition
        self.topic_id = log.topic_id
        self.role = NO_ROLE
        known = min(max(high_watermark, log.log_start_offset), log.log_end_offset)
        self.state: Leader | Follower = Follower(NO_EPOCH, known)
        self._min_insync_replicas = 1
        self._broker_id = broker_id
        self._produces = produces
        self._fetches = fetches
        log.durability.on_synced = self._synced

    # -- roles -------------------------------------------------------------------------------------------

    @property
    def is_leader(self) -> bool:
        """Whether this broker accepts writes for the partition."""
        return isinstance(self.state, Leader)

    @property
    def high_watermark(self) -> int:
        """Below this offset everything is on every replica in sync, as far as this broker knows."""
        return self.state.high_watermark

    def take_role(self, role: Role) -> bool:
        """Follow the controller's decision. False when it is older than the one in force: nothing
        changes then.
        """
        if role.leader_epoch < self.role.leader_epoch:
            return False
        self.role = role
        state = self.state
        if role.leader != self._broker_id:
            self.state = Follower(role.leader_epoch, state.high_watermark)
        elif isinstance(state, Leader) and state.epoch == role.leader_epoch:
            state.change(role)
        else:
            end = self.log.log_end_offset
            self.log.epochs.begin(role.leader_epoch, end)
            self.state = Leader(
                self._broker_id,
                role,
                min_insync_replicas=self._min_insync_replicas,
                log_end_offset=end,
                high_watermark=state.high_watermark,
            )
        if isinstance(self.state, Leader):
            self._advance(self.state)
        self._wake_all()
        return True

    def retire(self) -> None:
        """The partition leaves this broker: lead it no more, and answer all that wait for it."""
        epoch = self.role.leader_epoch
        self.role = Role(leader=NO_ROLE.leader, leader_epoch=epoch, isr=(), replicas=())
        self.state = Follower(epoch, self.high_watermark, is_retired=True)
        self._wake_all()

    def _wake_all(self) -> None:
        self._produces.wake(self)
        self._fetches.wake(self)

    def require_in_sync(self, min_insync_replicas: int) -> None:
        """Obey a changed `min.insync.replicas`."""
        self._min_insync_replicas = min_insync_replicas
        if isinstance(self.state, Leader):
            self.state.require_in_sync(min_insync_replicas)
            self._advance(self.state)

    # -- writing -----------------------------------------------------------------------------------------

    def append(
        self,
        batch: memoryview,
        header: BatchHeader,
        acks: int,
        now_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> AppendResult | ErrorCode:
        """Append one checked batch as the leader; an error code where this broker does not lead, too few
        are in sync, or the disk fails.
        """
        leader = self.state
        if not isinstance(leader, Leader):
            return self._not_leading()
        if acks == -1 and not leader.has_quorum:
            return ErrorCode.NOT_ENOUGH_REPLICAS
        try:
            result = self.log.append_as_leader(batch, header, leader.epoch, now_ms, origin)
        except FAULTS as fault:
            return self._failure(fault)
        if not result.error:
            self._advance(leader)
            self._fetches.wake_soon(self)
        return result

    def _advance(self, leader: Leader) -> bool:
        """Tell the leader how far its log is, without what waits for a sync (`flush.messages`). True if the
        high watermark moved.
        """
        log = self.log
        end, unsynced_from = log.log_end_offset, log.durability.unsynced_from
        if end > unsynced_from:
            end = unsynced_from
        if leader.advance(end):
            self._produces.wake(self)
            return True
        return False

    def committed(self, required_offset: int) -> ErrorCode | None:
        """Whether everything below `required_offset` is on every in-sync replica: a final answer, or None for
        "not yet".
        """
        if not isinstance(self.state, Leader):
            return self._not_leading()
        answer = self.state.committed(required_offset)
        return ErrorCode.KAFKA_STORAGE_ERROR if answer is None and self.log.is_failed else answer

    def stored(self, required_offset: int) -> ErrorCode | None:
        """Whether everything below `required_offset` is as safe here as `flush.messages` asks: a final
        answer, or None for "not yet".
        """
        if self.log.durability.unsynced_from >= required_offset:
            return ErrorCode.NONE
        return ErrorCode.KAFKA_STORAGE_ERROR if self.log.is_failed else None

    def _synced(self) -> None:
        """A sync has ended, or the log has failed: look again at what waits for either."""
        if not (isinstance(self.state, Leader) and self._advance(self.state)):
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
        """Where read_committed stops: the first open transaction, or the high watermark."""
        return self.log.producer_state.last_stable_offset(self.high_watermark)

    def check_epoch(self, leader_epoch: int) -> ErrorCode:
        """Fence a client that knows another leader epoch (KIP-320), then insist on being the leader and on a
        disk that works.
        """
        found = self._leader_for(leader_epoch)
        return ErrorCode.NONE if isinstance(found, Leader) else found

    def _leader_for(self, known_epoch: int) -> Leader | ErrorCode:
        """The leader, for a client that knows this epoch, or what the client is told."""
        state = self.state
        if known_epoch != state.epoch and (fenced := fence(known_epoch, state.epoch)):
            return fenced
        if isinstance(state, Leader):
            return ErrorCode.KAFKA_STORAGE_ERROR if self.log.is_failed else state
        return state.refusal(has_failed=self.log.is_failed)

    def _not_leading(self) -> ErrorCode:
        """What a client is told that wants to write, or waits for what it wrote."""
        return ErrorCode.KAFKA_STORAGE_ERROR if self.log.is_failed else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def fetch(self, spec: FetchSpec, isolation_level: int, max_bytes: int, min_one_batch: bool) -> Fetched:
        """Read for a consumer: from the batch that holds `spec.offset` on, below the high watermark or the
        last stable offset; the last batch may be cut short.
        """
        leader = self._leader_for(spec.leader_epoch)
        if not isinstance(leader, Leader):
            return Fetched(leader)
        log = self.log
        high_watermark = leader.high_watermark
        stable = log.producer_state.last_stable_offset(high_watermark)
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
        """Answer one ListOffsets question."""
        leader = self._leader_for(leader_epoch)
        if not isinstance(leader, Leader):
            return OffsetFound(leader)
        limit = self.last_stable_offset if isolation_level == READ_COMMITTED else leader.high_watermark
        try:
            return listing.offset_for(self.log, leader, timestamp, limit)
        except FAULTS as fault:
            return OffsetFound(self._failure(fault))

    def offsets_before(self, timestamp: int, limit: int, now_ms: int) -> tuple[ErrorCode, list[int]]:
        """Answer one question of ListOffsets v0 with at most `limit` offsets (`listing.offsets_before`)."""
        leader = self._leader_for(NO_EPOCH)
        if not isinstance(leader, Leader):
            return leader, []
        try:
            found = listing.offsets_before(self.log, leader.high_watermark, timestamp, limit, now_ms)
        except FAULTS as fault:
            return self._failure(fault), []
        return ErrorCode.NONE, found

    def end_offset_for_epoch(self, requested_epoch: int, leader_epoch: int) -> tuple[ErrorCode, int, int]:
        """OffsetForLeaderEpoch: (error, epoch, end offset); -1, -1 when that epoch is unknown here."""
        error = self.check_epoch(leader_epoch)
        if error:
            return error, NO_EPOCH, -1
        return ErrorCode.NONE, *self.log.end_offset_for_epoch(requested_epoch)

    # -- faults ------------------------------------------------------------------------------------------

    def _failure(self, fault: StorageError | OSError | RecordsDamaged) -> ErrorCode:
        """What a client is told of a fault. One of the disk takes the directory offline, unless it may pass
        (`LogContext.fault`); damaged records concern this partition alone.
        """
        if isinstance(fault, RecordsDamaged):
            logger.warning("%s-%d holds damaged records: %s", self.topic, self.index, fault)
            return ErrorCode.CORRUPT_MESSAGE
        if isinstance(fault, OSError):
            self.log.context.fault(fault)
        return ErrorCode.KAFKA_STORAGE_ERROR

    def check_invariants(self) -> None:
        """Assert log start <= high watermark <= log end, and that the parts agree."""
        self.state.check_invariants(self.log.log_end_offset)
        assert self.log.log_start_offset <= self.high_watermark
        assert self.last_stable_offset <= self.high_watermark
        assert self.state.epoch == self.role.leader_epoch
