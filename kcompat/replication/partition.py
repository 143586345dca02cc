"""A partition on this broker: its log, and its role (Kafka's `Partition`).

`Leader` and `Follower` decide and do no IO. `Partition` calls them, reads and writes the log, and wakes the
requests that wait on it through `PartitionPorts`: all of them when its role changes. Each method that reads
or writes has an `except FAULTS`, and answers with the error of `storage_error`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.cluster.control_requests import Role
from kcompat.log.append import BY_CLIENT, AppendTerms
from kcompat.log.holes import cut_to_follow
from kcompat.logger_names import PARTITION
from kcompat.protocol.constants import ACKS_ALL, NO_EPOCH, NO_LEADER
from kcompat.protocol.errors import ErrorCode
from kcompat.replication import reading
from kcompat.replication.errors import FAULTS, fence, storage_error
from kcompat.replication.leading.leader import Leader
from kcompat.replication.reading import NO_REPLICA, READ_COMMITTED, Fetched
from kcompat.replication.role import NO_ROLE, Follower
from kcompat.replication.throttle import ReplicaThrottles

if TYPE_CHECKING:
    from kcompat.log.append import AppendResult
    from kcompat.log.log import Log
    from kcompat.log.verification import VerificationGuard
    from kcompat.records.batch import BatchHeader
    from kcompat.replication.isr import Pending
    from kcompat.replication.partition_ports import FutureLog, PartitionPorts
    from kcompat.replication.reading import FetchSpec, PartitionReader

logger = logging.getLogger(PARTITION)


class Partition:
    """Replica of one partition: its log, and its `state`, a `Leader` or a `Follower`."""

    __slots__ = (
        "_min_insync_replicas",
        "_ports",
        "future",
        "index",
        "log",
        "role",
        "state",
        "statistics",
        "throttled",
        "topic",
        "topic_id",
    )

    def __init__(self, log: Log, ports: PartitionPorts, *, high_watermark: int) -> None:
        """Make a replica without a role; `high_watermark` is the checkpointed one."""
        self.log = log
        self.topic, self.index = log.topic, log.partition
        self.topic_id = log.topic_id
        self.role = NO_ROLE
        high_watermark = min(max(high_watermark, log.log_start_offset), log.log_end_offset)
        self.state: Leader | Follower = Follower(NO_EPOCH, high_watermark)
        self.throttled = ReplicaThrottles()
        self.statistics = ports.statistics.of(log.topic)
        self.future: FutureLog | None = None
        """Copy that is to replace the log, in another log directory; None without a move."""
        self._min_insync_replicas = 1
        self._ports = ports
        log.durability.on_synced = self._synced

    # -- roles -------------------------------------------------------------------------------------------

    @property
    def is_leader(self) -> bool:
        """Whether this broker accepts writes for the partition."""
        return isinstance(self.state, Leader)

    @property
    def high_watermark(self) -> int:
        """Offset below which every in-sync replica has all records, as far as this broker knows."""
        return self.state.high_watermark

    def take_role(self, role: Role) -> ErrorCode:
        """Take the role that the controller decided, or return the error. Every decision has its own leader
        epoch; one that is not newer than the current epoch changes nothing.
        """
        ports = self._ports
        if role.leader_epoch <= self.role.leader_epoch:
            return ErrorCode.STALE_CONTROLLER_EPOCH
        if ports.broker_id not in role.replicas:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if role.partition_epoch < self.role.partition_epoch:
            return ErrorCode.NONE
        if role.leader not in (NO_LEADER, ports.broker_id):
            cut_to_follow(self.log)
        self.role = role
        state, end = self.state, self.log.log_end_offset
        if role.leader != ports.broker_id:
            self.state = Follower(role.leader_epoch, min(state.high_watermark, end))
        else:
            now_ms = ports.clock.now_ms()
            self.log.hole = None  # records missing in a leader's log are lost
            self.log.epochs.begin(role.leader_epoch, end)
            self.state = Leader(
                ports.broker_id,
                role,
                ports.rule,
                min_insync_replicas=self._min_insync_replicas,
                log_end_offset=end,
                high_watermark=state.high_watermark,
                now_ms=now_ms,
                previous=state if isinstance(state, Leader) else None,
            )
            self._advance(self.state, now_ms)
        self._ports.wake_all(self)
        return ErrorCode.NONE

    def stop(self) -> None:
        """Stop leading and following until the controller sends a role of a newer leader epoch."""
        self.role = replace(self.role, leader=NO_LEADER)
        self.state = Follower(self.role.leader_epoch, self.high_watermark)
        self._ports.wake_all(self)

    def retire(self) -> None:
        """Stop leading a partition that is removed from this broker, and answer its waiting requests."""
        epoch = self.role.leader_epoch
        self.role = Role(leader=NO_ROLE.leader, leader_epoch=epoch, isr=(), replicas=())
        self.state = Follower(epoch, self.high_watermark, is_retired=True)
        self._ports.wake_all(self)

    def wake_consumers(self) -> None:
        """Wake the consumers that wait: the high watermark or last stable offset has changed."""
        self._ports.fetches.wake_soon(self)

    def wake_deletions(self) -> None:
        """Wake the DeleteRecords that wait: the log start of a copy has moved."""
        self._ports.deletions.wake(self)

    def require_in_sync(self, min_insync_replicas: int) -> None:
        """Apply a changed `min.insync.replicas`."""
        self._min_insync_replicas = min_insync_replicas
        if isinstance(self.state, Leader):
            self.state.require_in_sync(min_insync_replicas)
            self._advance(self.state, self._ports.clock.now_ms())

    def begin_verification(
        self, producer_id: int, epoch: int, sequence: int, now_ms: int, *, adds: bool
    ) -> VerificationGuard | ErrorCode:
        """Call `ProducerState.begin_verification` (KIP-890), or return the error if this broker may not."""
        return self.check_epoch(NO_EPOCH) or self.log.producer_state.begin_verification(
            producer_id, epoch, sequence, now_ms, adds=adds
        )

    def replace_log(self, log: Log) -> None:
        """Replace the log by a copy in another log directory that has the same records."""
        for epoch, start_offset in self.log.epochs.cache.entries:
            if epoch > log.epochs.latest:  # epochs that began here and have no batch
                log.epochs.begin(epoch, start_offset)
        self.log, self.future = log, None
        log.durability.on_synced = self._synced
        self._synced()
        self.wake_deletions()

    # -- replicas in sync --------------------------------------------------------------------------------

    def note_fetch(self, spec: FetchSpec, reader: PartitionReader, now_ms: int) -> None:
        """Record that a follower has all records below its fetch offset; call this before the next append."""
        leader, replica = self.state, reader.replica_id
        if not isinstance(leader, Leader):
            return
        has_moved = leader.fetched(
            replica,
            spec.offset,
            spec.log_start_offset,
            log_end_offset=self.log.log_end_offset,
            now_ms=now_ms,
            broker_epoch=reader.broker_epoch,
        )
        self._ports.deletions.wake(self)
        self._ports.leadership_checks.wake(self)
        if self._ports.propose is not None:
            self._propose(leader.expand(replica))
        if has_moved:
            self._advance(leader, now_ms)

    def shrink_isr(self, now_ms: int) -> None:
        """Propose an ISR without the followers that have fallen behind."""
        leader = self.state
        if isinstance(leader, Leader) and self._ports.propose is not None:
            self._propose(leader.shrink(self.log.log_end_offset, now_ms))

    def advance(self) -> None:
        """Advance the high watermark, if it no longer has to wait for a replica."""
        if isinstance(self.state, Leader):
            self._advance(self.state, self._ports.clock.now_ms())

    def _propose(self, pending: Pending | None) -> None:
        propose = self._ports.propose
        if pending is not None and propose is not None:
            logger.info("%s-%d proposes the ISR %s", self.topic, self.index, pending.proposed)
            propose(self, pending)

    def isr_accepted(
        self, pending: Pending, leader_epoch: int, partition_epoch: int, isr: tuple[int, ...]
    ) -> None:
        """Replace the ISR by the one that the controller stored, which may differ from the proposed one."""
        leader = self.state
        if isinstance(leader, Leader) and leader.accepted(pending, leader_epoch, partition_epoch, isr):
            self.role = replace(self.role, isr=isr, partition_epoch=partition_epoch)
            self._advance(leader, self._ports.clock.now_ms())
            self._ports.produces.wake(self)
            self._ports.leadership_checks.wake(self)

    def isr_refused(self, pending: Pending, error: ErrorCode) -> bool:
        """Handle the refusal of a proposed ISR; return True if it has to be proposed again."""
        if isinstance(self.state, Leader) and self.state.refused(pending, error):
            return True
        self.advance()  # which need not wait for a replica that was to join
        return False

    # -- writing -----------------------------------------------------------------------------------------

    def append(
        self, batch: memoryview, header: BatchHeader, acks: int, now_ms: int, terms: AppendTerms = BY_CLIENT
    ) -> AppendResult | ErrorCode:
        """Append one checked batch as the leader. Returns an error code if this broker does not lead, too few
        replicas are in sync, or the disk fails. A leader that is cut off reports no sequence gap, because
        another leader may have taken the missing batches.
        """
        leader, refusals = self.state, self.log.producer_state.refusals
        if not isinstance(leader, Leader):
            return refusals.note(header, self._not_leading())
        if acks == ACKS_ALL and not leader.has_quorum:
            return refusals.note(header, ErrorCode.NOT_ENOUGH_REPLICAS)
        try:
            result = self.log.append_as_leader(batch, header, leader.epoch, now_ms, terms)
        except FAULTS as fault:
            return refusals.note(header, storage_error(fault, self.log))
        if not result.error:
            self.statistics.note_append(header.last_offset_delta + 1, len(batch))
            self._advance(leader, now_ms)
            if leader.remotes:
                self._ports.replica_fetches.wake_soon(self)
        elif result.error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and not leader.is_followed_lately(now_ms):
            return self._not_leading()
        return result

    def _advance(self, leader: Leader, now_ms: int) -> None:
        """Advance the leader to the end of the log without the records that wait for a sync
        (`flush.messages`).
        """
        log = self.log
        end, unsynced_from = log.log_end_offset, log.durability.unsynced_from
        if end > unsynced_from:
            end = unsynced_from
        if leader.advance(end, now_ms):
            self._ports.produces.wake(self)
            self._ports.fetches.wake_soon(self)

    def committed(self, required_offset: int) -> ErrorCode | None:
        """Return whether all records below `required_offset` are on every in-sync replica. NONE or an error
        is final; None means "not yet".
        """
        if not isinstance(self.state, Leader):
            return self._not_leading()
        answer = self.state.committed(required_offset)
        return ErrorCode.KAFKA_STORAGE_ERROR if answer is None and self.log.is_failed else answer

    def stored(self, required_offset: int) -> ErrorCode | None:
        """Return whether all records below `required_offset` are as durable here as `flush.messages` asks.
        NONE or an error is final; None means "not yet".
        """
        if self.log.durability.unsynced_from >= required_offset:
            return ErrorCode.NONE
        return ErrorCode.KAFKA_STORAGE_ERROR if self.log.is_failed else None

    def _synced(self) -> None:
        """Check the requests that wait for a sync again, after it has ended or the log has failed."""
        self.advance()
        self._ports.produces.wake(self)
        self._ports.fetches.wake_soon(self)

    def delete_records_before(self, offset: int) -> tuple[ErrorCode, int]:
        """Advance the log start to `offset` (-1: the high watermark). Returns the error, and the offset that
        the followers' logs have to start at as well; -1 on error.
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
            return storage_error(fault, self.log), -1
        return ErrorCode.NONE, offset

    @property
    def low_watermark(self) -> int:
        """Offset below which no replica on a living broker has records, nor the copy that is to replace this
        log. -1 if another broker leads, or a follower has not reported its log start.
        """
        leader, start, future = self.state, self.log.log_start_offset, self.future
        if future is not None:
            start = min(start, future.log.log_start_offset)
        return leader.low_watermark(start) if isinstance(leader, Leader) else -1

    def deleted(self, required_offset: int) -> ErrorCode | None:
        """Return NONE if all living replicas have deleted all records below `required_offset`, else None."""
        if not self.is_leader or self.log.is_failed:
            return self._not_leading()
        return ErrorCode.NONE if self.low_watermark >= required_offset else None

    # -- reading -----------------------------------------------------------------------------------------

    @property
    def last_stable_offset(self) -> int:
        """End of what read_committed may read: the first open transaction, or the high watermark."""
        log = self.log
        return log.producer_state.last_stable_offset(log.log_start_offset, self.high_watermark)

    def check_epoch(self, leader_epoch: int) -> ErrorCode:
        """Return the error of `leader_for` for a client that knows this leader epoch; NONE if it has none."""
        found = self.leader_for(leader_epoch)
        return ErrorCode.NONE if isinstance(found, Leader) else found

    def leader_for(self, known_epoch: int) -> Leader | ErrorCode:
        """Return the leader for a client that knows this leader epoch, or the error for the client."""
        state = self.state
        if known_epoch != state.epoch and (fenced := fence(known_epoch, state.epoch)):
            return fenced
        if isinstance(state, Leader):
            return ErrorCode.KAFKA_STORAGE_ERROR if self.log.is_failed else state
        return state.refusal(has_failed=self.log.is_failed)

    def _not_leading(self) -> ErrorCode:
        """Return the error for a client that writes or waits for a write while this broker does not lead."""
        return ErrorCode.KAFKA_STORAGE_ERROR if self.log.is_failed else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def fetch(self, spec: FetchSpec, reader: PartitionReader, max_bytes: int, min_one_batch: bool) -> Fetched:
        """Read from the batch that contains `spec.offset` on; the last batch may be incomplete.

        Followers read up to the log end, consumers up to the high watermark or the last stable offset.
        """
        self.statistics.fetches += 1
        find = self._leader_for_follower if reader.replica_id >= 0 else self.replica_for
        state: Leader | Follower | ErrorCode = find(spec.leader_epoch, reader)
        if not isinstance(state, Leader) and not isinstance(state, Follower):
            return Fetched(state)
        log = self.log
        high_watermark = state.high_watermark
        stable = log.producer_state.last_stable_offset(log.log_start_offset, high_watermark)
        answer = Fetched(ErrorCode.NONE, high_watermark, stable, log.log_start_offset)
        if reader.choice is not None and isinstance(state, Leader):
            answer.preferred_replica = reader.choice.choose(state, spec.offset)
            if answer.preferred_replica != NO_REPLICA:
                return answer
        committed_only = reader.isolation_level == READ_COMMITTED
        upper = stable if committed_only else high_watermark
        if reader.replica_id >= 0:
            answer.is_awaited = isinstance(state, Leader) and state.remotes[reader.replica_id].is_awaited
            is_held = self.throttled.holds(state, reader.replica_id, self._ports.clock)
            upper, committed_only = spec.offset if is_held else log.log_end_offset, False
        try:
            return reading.read(log, spec, answer, upper, max_bytes, min_one_batch, aborted=committed_only)
        except FAULTS as fault:
            return Fetched(storage_error(fault, self.log))

    def _leader_for_follower(self, known_epoch: int, reader: PartitionReader) -> Leader | ErrorCode:
        """Return the leader for a follower that it knows, or the error for the follower."""
        leader = self.leader_for(known_epoch)
        if not isinstance(leader, Leader):
            return leader
        return leader.refusal(reader.replica_id, reader.broker_epoch, known_epoch) or leader

    def replica_for(self, known_epoch: int, reader: PartitionReader) -> Leader | Follower | ErrorCode:
        """Return this replica's state for a consumer that knows this leader epoch, or the error."""
        found = self.leader_for(known_epoch)
        if isinstance(found, Leader) or reader.leader_only or found != ErrorCode.NOT_LEADER_OR_FOLLOWER:
            return found
        state = self.state
        return state if isinstance(state, Follower) and state.is_readable else found

    def end_offset_for_epoch(self, requested_epoch: int, leader_epoch: int) -> tuple[ErrorCode, int, int]:
        """Return error, epoch and end offset for OffsetForLeaderEpoch; -1 and -1 for an unknown epoch."""
        error = self.check_epoch(leader_epoch)
        if error:
            return error, NO_EPOCH, -1
        return ErrorCode.NONE, *self.log.end_offset_for_epoch(requested_epoch)

    def check_invariants(self) -> None:
        """Assert log start <= last stable offset <= high watermark <= log end, and that the parts agree."""
        self.state.check_invariants(self.log.log_end_offset)
        assert self.log.log_start_offset <= self.last_stable_offset <= self.high_watermark
        assert self.state.epoch == self.role.leader_epoch
