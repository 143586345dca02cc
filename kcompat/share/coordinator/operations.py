"""The operations of the share coordinator on one share partition, each a pure function of its shard.

The checks are in the order of Kafka's `ShareCoordinatorShard`, which determines the error that a client gets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.constants import NO_EPOCH
from kcompat.protocol.errors import ErrorCode
from kcompat.share.batches import NO_OFFSET
from kcompat.share.coordinator.state import (
    brought_up_to_date,
    cold_snapshot,
    initialized,
    snapshot_key,
    snapshot_of_write,
    update_key,
    updated,
)
from kcompat.share.persister import UNINITIALIZED_SUMMARY, Outcome, StateRead, StateSummary, StateWrite

if TYPE_CHECKING:
    from collections.abc import Collection

    from kcompat.coordinator.transition import Transition
    from kcompat.share.coordinator.shard import ShareShard
    from kcompat.share.coordinator.state import ShareState
    from kcompat.share.key import SharePartitionKey

    ShareTransition = Transition[ShareShard]

NEGATIVE_PARTITION = "The partition id cannot be a negative number."
READ_UNINITIALIZED = "Read operation on uninitialized share partition not allowed."
WRITE_UNINITIALIZED = "Write operation on uninitialized share partition not allowed."

_NONE = Outcome()


def initialize(
    transition: ShareTransition, key: SharePartitionKey, state_epoch: int, start_offset: int
) -> Outcome:
    """Decide InitializeShareGroupState: reset the state of a share partition.

    A request without a start offset does nothing if its state epoch has begun: it is a retry after a timeout,
    and members may have acquired records since. Kafka resets the state again.
    """
    known = transition.shard.states.get(key)
    refusal = _misplaced(key)
    if not refusal.error and known is not None and _is_fenced(state_epoch, known.fencing_state_epoch):
        refusal = _refused(ErrorCode.FENCED_STATE_EPOCH)
    refusal = refusal if refusal.error else _missing(transition.shard, key)
    has_begun = known is not None and known.state_epoch == state_epoch
    if not refusal.error and not (has_begun and start_offset == NO_OFFSET):
        transition.write(snapshot_key(key), initialized(known, state_epoch, start_offset, transition.now_ms))
    return refusal


def read(transition: ShareTransition, key: SharePartitionKey, leader_epoch: int) -> StateRead:
    """Decide ReadShareGroupState: return the stored state, and fence leaders older than this one.

    If the leader epoch is not new, nothing is written, and the response waits until earlier writes are
    committed.
    """
    known = transition.shard.states.get(key)
    refusal = _misplaced(key)
    if not refusal.error:
        refusal = _unreadable(transition.shard, key, known, leader_epoch)
    if refusal.error:
        return StateRead(*refusal)
    assert known is not None
    if leader_epoch not in (NO_EPOCH, known.fencing_leader_epoch):
        change = StateWrite(
            known.state_epoch, leader_epoch, known.start_offset, known.delivery_complete_count, batches=()
        )
        _write(transition, key, known, change, leader_epoch)
    return _read(known)


def write(transition: ShareTransition, key: SharePartitionKey, change: StateWrite) -> Outcome:
    """Decide WriteShareGroupState: write deliveries as an update, or as a snapshot after enough updates."""
    known = transition.shard.states.get(key)
    refusal = _misplaced(key)
    if not refusal.error:
        refusal = _unwritable(transition.shard, key, known, change)
    if not refusal.error:
        assert known is not None
        _write(transition, key, known, brought_up_to_date(known, change), known.leader_epoch)
    return refusal


def delete(transition: ShareTransition, key: SharePartitionKey) -> Outcome:
    """Decide DeleteShareGroupState: delete the state of a share partition. An unknown one is no error."""
    refusal = _misplaced(key)
    refusal = refusal if refusal.error else _missing(transition.shard, key)
    if not refusal.error and transition.shard.states.get(key) is not None:
        transition.write(snapshot_key(key), None)
    return refusal


def summary(shard: ShareShard, key: SharePartitionKey) -> StateSummary:
    """Decide ReadShareGroupStateSummary: return the start offset of a share partition."""
    refusal = _misplaced(key)
    refusal = refusal if refusal.error else _missing(shard, key)
    if refusal.error:
        return StateSummary(*refusal)
    state = shard.states.get(key)
    if state is None:
        return UNINITIALIZED_SUMMARY
    return StateSummary(
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
    )


def snapshot_cold(transition: ShareTransition) -> None:
    """Write snapshots of states that have not changed for `cold_snapshot_interval_ms`, so that older records
    can be deleted.

    Nothing is written if the last snapshot of every share partition is such a one already.
    """
    states = list(transition.shard.states.items())
    if all(state.created_ms != state.written_ms for _, state in states):
        return
    interval_ms = transition.shard.config.cold_snapshot_interval_ms
    for key, state in states:
        if transition.now_ms - state.written_ms >= interval_ms:
            transition.write(snapshot_key(key), cold_snapshot(state, transition.now_ms))


def forget_topics(transition: ShareTransition, topic_ids: Collection[bytes]) -> None:
    """Delete the state of share partitions whose topics were deleted."""
    for key in transition.shard.states.keys():  # noqa: SIM118
        if key.topic_id in topic_ids:
            transition.write(snapshot_key(key), None)


def _write(
    transition: ShareTransition,
    key: SharePartitionKey,
    known: ShareState,
    change: StateWrite,
    leader_epoch: int,
) -> None:
    if known.updates >= transition.shard.config.updates_per_snapshot:
        transition.write(snapshot_key(key), snapshot_of_write(known, change, leader_epoch, transition.now_ms))
    else:
        transition.write(update_key(key), updated(known, change, leader_epoch))


def _read(state: ShareState) -> StateRead:
    return StateRead(state_epoch=state.state_epoch, start_offset=state.start_offset, batches=state.batches)


def _misplaced(key: SharePartitionKey) -> Outcome:
    return _NONE if key.partition >= 0 else Outcome(ErrorCode.INVALID_REQUEST, NEGATIVE_PARTITION)


def _unreadable(
    shard: ShareShard, key: SharePartitionKey, known: ShareState | None, leader_epoch: int
) -> Outcome:
    if known is None:
        return Outcome(ErrorCode.INVALID_REQUEST, READ_UNINITIALIZED)
    if known.fencing_leader_epoch > leader_epoch:
        return _refused(ErrorCode.FENCED_LEADER_EPOCH)
    return _missing(shard, key)


def _unwritable(
    shard: ShareShard, key: SharePartitionKey, known: ShareState | None, change: StateWrite
) -> Outcome:
    if known is None:
        return Outcome(ErrorCode.INVALID_REQUEST, WRITE_UNINITIALIZED)
    if _is_fenced(change.leader_epoch, known.fencing_leader_epoch):
        return _refused(ErrorCode.FENCED_LEADER_EPOCH)
    if _is_fenced(change.state_epoch, known.fencing_state_epoch):
        return _refused(ErrorCode.FENCED_STATE_EPOCH)
    return _missing(shard, key)


def _missing(shard: ShareShard, key: SharePartitionKey) -> Outcome:
    if key.partition < shard.partition_count(key.topic_id):
        return _NONE
    return _refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _is_fenced(epoch: int, seen: int) -> bool:
    return epoch != NO_EPOCH and epoch < seen


def _refused(error: ErrorCode) -> Outcome:
    return Outcome(error, error.message)
