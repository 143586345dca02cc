"""A share partition on the leader of its partition, with its IO: load, store, and expiry of locks.

The state machine in `kcompat.share.partition` decides; this module calls the persister, sets the timer of the
locks and completes waiting requests. One write is under way at a time; later changes share the next one.
Kafka's counterpart is the rest of `SharePartition`.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.replication.listing import offset_for
from kcompat.replication.reading import ANY_CONSUMER
from kcompat.share.batches import NO_OFFSET
from kcompat.share.partition.acknowledgement import NOT_IN_FLIGHT
from kcompat.share.partition.in_flight import SpanChange
from kcompat.share.partition.share_partition import DamagedStateError, SharePartition
from kcompat.share.persister import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.clock import Clock, Timer
    from kcompat.replication.partition import Partition
    from kcompat.share.batches import StateBatch
    from kcompat.share.key import SharePartitionKey
    from kcompat.share.partition.acknowledgement import Acknowledgement
    from kcompat.share.partition.acquisition import Acquired, AcquisitionSpec
    from kcompat.share.partition.limits import ShareLimits
    from kcompat.share.persister import Persister, StateRead
    from kcompat.share.ports import ShareSettings
    from kcompat.share.reading import ReadBatches

logger = logging.getLogger(__name__)

DONE: Final = Outcome()

_TO_MEMBERS: Final = {
    ErrorCode.NOT_COORDINATOR: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_STATE_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
}
_AS_THEY_ARE: Final = frozenset(
    {
        ErrorCode.NONE,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
_FENCING: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
"""Errors after which this broker's state of the share partition is out of date."""


class _Waiting(NamedTuple):
    """A change that waits to be stored, and the promise of its outcome."""

    batches: Sequence[StateBatch]
    change: SpanChange | None
    promise: Promise[Outcome]


class LedSharePartition:
    """A share partition of a partition that this broker leads."""

    def __init__(
        self,
        key: SharePartitionKey,
        partition: Partition,
        persister: Persister,
        clock: Clock,
        settings: ShareSettings,
        changed: Callable[[LedSharePartition], object],
    ) -> None:
        """`changed(self)` is called when waiting fetches may continue or have to be refused."""
        self.key = key
        self.partition = partition
        self.refusal: Outcome | None = None
        """Reason why the share partition is no longer usable; None while it is usable."""
        self._machine: SharePartition | None = None
        self._persister = persister
        self._clock = clock
        self._settings = settings
        self._changed = changed
        self._leader_epoch = partition.role.leader_epoch
        self._waiting: list[_Waiting] = []
        self._is_writing = False
        self._timer: Timer | None = None
        self._timer_at_ms: int | None = None
        persister.read(key, self._leader_epoch).then(self._loaded, self._failed)

    @property
    def machine(self) -> SharePartition | None:
        """State machine of the share partition; None until it is loaded."""
        return self._machine

    @property
    def limits(self) -> ShareLimits:
        """Limits that the group's configuration sets."""
        return self._settings.limits(self.key.group_id)

    # --- loading and refusal

    def _failed(self, fault: Exception) -> None:
        logger.error("The share partition %s cannot be loaded: %s", self.key, fault)
        self.drop(Outcome(ErrorCode.UNKNOWN_SERVER_ERROR))

    def _loaded(self, stored: StateRead) -> None:
        if self.refusal is not None:
            return
        if stored.error != ErrorCode.NONE:
            self.drop(_to_member(Outcome(stored.error, stored.message)))
            return
        start_offset = stored.start_offset
        if start_offset == NO_OFFSET:
            now_ms = self._clock.now_ms()
            timestamp = self._settings.start_timestamp(self.key.group_id, now_ms)
            found = offset_for(self.partition, timestamp, ANY_CONSUMER, -1)
            if found.error or found.offset < 0:
                self.drop(Outcome(found.error or ErrorCode.OFFSET_NOT_AVAILABLE))
                return
            start_offset = found.offset
        try:
            self._machine = SharePartition(
                stored.state_epoch, self._leader_epoch, start_offset, stored.batches
            )
        except DamagedStateError as damage:
            logger.error("The share partition %s cannot be loaded: %s", self.key, damage)  # noqa: TRY400
            self.drop(Outcome(ErrorCode.UNKNOWN_SERVER_ERROR))
            return
        self._changed(self)

    def check(self) -> Outcome | None:
        """Return the reason why the share partition is unusable, or None.

        After another leader the stored state may differ. Each leader has its own epoch, so the epoch that
        follows the last known one means that this broker was elected again.
        """
        if self.refusal is None:
            partition, epoch = self.partition, self.partition.role.leader_epoch
            if not partition.is_leader or epoch > self._leader_epoch + 1:
                self.drop(Outcome(ErrorCode.NOT_LEADER_OR_FOLLOWER))
            elif epoch != self._leader_epoch:
                self._leader_epoch = epoch
                if self._machine is not None:
                    self._machine.leader_epoch = epoch
        return self.refusal

    def drop(self, refusal: Outcome) -> None:
        """Refuse all requests from now on with `refusal`, including waiting ones."""
        if self.refusal is not None:
            return
        self.refusal = refusal
        self._set_timer(None)
        waiting, self._waiting = self._waiting, []
        self._changed(self)
        for each in waiting:
            each.promise.complete(refusal)

    # --- requests of members

    def acquire(
        self, spec: AcquisitionSpec, read: ReadBatches, aborted: Sequence[tuple[int, int]]
    ) -> list[Acquired]:
        """Acquire records that were read for a member."""
        machine = self._machine
        assert machine is not None
        acquired = machine.acquire(
            spec, read.batches, read.aborted(aborted), self.limits, self._clock.now_ms()
        )
        self._set_timer(machine.lock_ends_ms)
        return acquired

    def acknowledge(self, member_id: str, said: Sequence[Acknowledgement]) -> Promise[Outcome]:
        """Apply a member's acknowledgements; promise the outcome once they are stored."""
        refusal = self.check()
        if refusal is not None:
            return Promise.resolved(refusal)
        machine = self._machine
        if machine is None:
            return Promise.resolved(NOT_IN_FLIGHT)
        begun = machine.acknowledge(member_id, said, self.limits, self._clock.now_ms())
        self._set_timer(machine.lock_ends_ms)
        return self._store(begun) if isinstance(begun, SpanChange) else Promise.resolved(begun)

    def release(self, member_id: str) -> Promise[Outcome]:
        """Release all records of a departed member; promise the outcome once that is stored."""
        machine = self._machine
        if self.check() is not None or machine is None:
            return Promise.resolved(DONE)
        return self._store(machine.release(member_id, self.limits))

    def log_starts_at(self, offset: int) -> None:
        """Drop the records below `offset`, the new start of the log."""
        if self._machine is not None:
            self._machine.log_starts_at(offset)

    # --- locks

    def _set_timer(self, at_ms: int | None) -> None:
        if at_ms == self._timer_at_ms:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_at_ms = at_ms
        if at_ms is not None:
            delay_ms = max(at_ms - self._clock.now_ms(), 0)
            self._timer = self._clock.call_later(delay_ms, self._locks_end)

    def _locks_end(self) -> None:
        self._timer = self._timer_at_ms = None
        machine = self._machine
        if self.check() is not None or machine is None:
            return
        batches = machine.expire(self.limits, self._clock.now_ms())
        self._set_timer(machine.lock_ends_ms)
        if batches:
            self._changed(self)
            self._enqueue(_Waiting(batches, None, Promise()))

    # --- storing

    def _store(self, change: SpanChange) -> Promise[Outcome]:
        if not change.batches:
            return Promise.resolved(DONE)
        waiting = _Waiting(change.batches, change, Promise())
        self._enqueue(waiting)
        return waiting.promise

    def _enqueue(self, waiting: _Waiting) -> None:
        self._waiting.append(waiting)
        if not self._is_writing:
            self._write()

    def _write(self) -> None:
        """Store all waiting changes with one write."""
        machine = self._machine
        assert machine is not None
        stored, self._waiting = self._waiting, []
        self._is_writing = True
        write = machine.write([batch for each in stored for batch in each.batches])
        self._persister.write(self.key, write).then(
            partial(self._written, stored), partial(self._not_written, stored)
        )

    def _not_written(self, stored: Sequence[_Waiting], fault: Exception) -> None:
        logger.error("The share partition %s cannot be stored: %s", self.key, fault)
        self._written(stored, Outcome(ErrorCode.UNKNOWN_SERVER_ERROR))

    def _written(self, stored: Sequence[_Waiting], outcome: Outcome) -> None:
        """Apply the outcome of a write. The waiting requests are answered last, because a response may bring
        in the next request.
        """
        machine = self._machine
        assert machine is not None
        self._is_writing = False
        outcome = _to_member(outcome)
        for each in stored:
            if each.change is not None:
                machine.settle(
                    each.change,
                    self.limits,
                    self._clock.now_ms(),
                    is_stored=outcome.error == ErrorCode.NONE,
                )
        if outcome.error in _FENCING:
            self.drop(outcome)
        if self.refusal is None:
            self._set_timer(machine.lock_ends_ms)
            if self._waiting:
                self._write()
            self._changed(self)
        for each in stored:
            each.promise.complete(outcome)

    def check_invariants(self) -> None:
        """Assert the invariants of the state machine, and that the timer is set to the end of the
        first lock.
        """
        if self._machine is not None:
            self._machine.check_invariants()
            assert self.refusal is not None or self._timer_at_ms == self._machine.lock_ends_ms


def _to_member(outcome: Outcome) -> Outcome:
    """Return the outcome that a member gets for an error of the persister (Kafka's `fetchPersisterError`)."""
    error = _TO_MEMBERS.get(outcome.error, outcome.error)
    if error in _AS_THEY_ARE or error in _FENCING:
        return outcome._replace(error=error)
    return outcome._replace(error=ErrorCode.UNKNOWN_SERVER_ERROR)
