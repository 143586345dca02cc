"""The stored state of one share partition, and the records of its log.

A snapshot record holds the whole state. An update record holds changes after the snapshot of the same
snapshot epoch, and is merged with the known state. Kafka's counterpart: `ShareGroupOffset`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcompat.protocol.constants import NO_EPOCH
from kcompat.protocol.messages.share_state_records import (
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateKey,
    ShareUpdateValue,
)
from kcompat.share.batches import NO_OFFSET, StateBatch, combine
from kcompat.share.persister import NOT_COUNTED

if TYPE_CHECKING:
    from kcompat.share.key import SharePartitionKey
    from kcompat.share.persister import StateWrite


class ShareState(Struct, frozen=True):
    """The delivery state of a share partition after its last record."""

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...]
    created_ms: int
    """Wall-clock time in ms of the last snapshot that a request caused; cold snapshots do not count."""
    written_ms: int
    """Wall-clock time in ms of the last snapshot; cold snapshots count."""
    fencing_leader_epoch: int
    """Highest leader epoch seen: older leaders are fenced. Initialization does not lower it."""
    fencing_state_epoch: int
    """Highest state epoch seen."""
    snapshot_offset: int
    """Offset of the last snapshot in the log; older records of this share partition are redundant."""
    updates: int = 0
    """Number of updates since the last snapshot."""


def initialized(
    known: ShareState | None, state_epoch: int, start_offset: int, now_ms: int
) -> ShareSnapshotValue:
    """Return the snapshot that resets a share partition."""
    return ShareSnapshotValue(
        snapshot_epoch=0 if known is None else known.snapshot_epoch + 1,
        state_epoch=state_epoch,
        leader_epoch=0,
        start_offset=start_offset,
        delivery_complete_count=NOT_COUNTED if start_offset == NO_OFFSET else 0,
        create_timestamp=now_ms,
        write_timestamp=now_ms,
    )


def brought_up_to_date(known: ShareState, write: StateWrite) -> StateWrite:
    """Return `write` with a start offset that is not below the known one.

    The start offset never goes back within a state epoch. A leader that got no response reads its state
    again, and may be far ahead when its earlier write arrives. The start offset of that write would deliver
    finished records again.
    """
    if write.start_offset == NO_OFFSET or write.start_offset >= known.start_offset:
        return write
    return write._replace(
        start_offset=known.start_offset, delivery_complete_count=known.delivery_complete_count
    )


def updated(known: ShareState, write: StateWrite, leader_epoch: int) -> ShareUpdateValue:
    """Return the update record of a write."""
    return ShareUpdateValue(
        snapshot_epoch=known.snapshot_epoch,
        leader_epoch=leader_epoch,
        start_offset=write.start_offset,
        delivery_complete_count=write.delivery_complete_count,
        state_batches=[
            ShareUpdateValue.StateBatch(*batch) for batch in combine((), write.batches, write.start_offset)
        ],
    )


def snapshot_of_write(
    known: ShareState, write: StateWrite, leader_epoch: int, now_ms: int
) -> ShareSnapshotValue:
    """Return the snapshot that is written instead of an update after enough updates."""
    start_offset = known.start_offset if write.start_offset == NO_OFFSET else write.start_offset
    return ShareSnapshotValue(
        snapshot_epoch=known.snapshot_epoch + 1,
        state_epoch=known.state_epoch,
        leader_epoch=leader_epoch,
        start_offset=start_offset,
        delivery_complete_count=write.delivery_complete_count,
        create_timestamp=now_ms,
        write_timestamp=now_ms,
        state_batches=_in_snapshot(combine(known.batches, write.batches, start_offset)),
    )


def cold_snapshot(known: ShareState, now_ms: int) -> ShareSnapshotValue:
    """Return a snapshot of a state that has not changed for a while, so that older records can be deleted."""
    return ShareSnapshotValue(
        snapshot_epoch=known.snapshot_epoch + 1,
        state_epoch=known.state_epoch,
        leader_epoch=known.leader_epoch,
        start_offset=known.start_offset,
        delivery_complete_count=known.delivery_complete_count,
        create_timestamp=known.created_ms,
        write_timestamp=now_ms,
        state_batches=_in_snapshot(known.batches),
    )


def after_snapshot(known: ShareState | None, value: ShareSnapshotValue, offset: int) -> ShareState:
    """Return the state after a snapshot at `offset` has been replayed."""
    fencing_leader_epoch, fencing_state_epoch = value.leader_epoch, value.state_epoch
    if known is not None:
        fencing_leader_epoch = max(known.fencing_leader_epoch, fencing_leader_epoch)
        fencing_state_epoch = max(known.fencing_state_epoch, fencing_state_epoch)
    return ShareState(
        value.snapshot_epoch,
        value.state_epoch,
        value.leader_epoch,
        value.start_offset,
        value.delivery_complete_count,
        tuple(
            StateBatch(batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count)
            for batch in value.state_batches
        ),
        value.create_timestamp,
        value.write_timestamp,
        fencing_leader_epoch,
        fencing_state_epoch,
        offset,
    )


def after_update(known: ShareState, value: ShareUpdateValue) -> ShareState:
    """Return the state after an update has been replayed; an update does not change the state epoch."""
    start_offset = known.start_offset if value.start_offset == NO_OFFSET else value.start_offset
    leader_epoch = known.leader_epoch if value.leader_epoch == NO_EPOCH else value.leader_epoch
    added = [
        StateBatch(batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count)
        for batch in value.state_batches
    ]
    return replace(
        known,
        start_offset=start_offset,
        delivery_complete_count=value.delivery_complete_count,
        leader_epoch=leader_epoch,
        batches=combine(known.batches, added, start_offset),
        fencing_leader_epoch=max(known.fencing_leader_epoch, value.leader_epoch),
        updates=known.updates + 1,
    )


def snapshot_key(key: SharePartitionKey) -> ShareSnapshotKey:
    """Return the key of the snapshots and of the tombstone of a share partition."""
    return ShareSnapshotKey(*key)


def update_key(key: SharePartitionKey) -> ShareUpdateKey:
    """Return the key of the updates of a share partition."""
    return ShareUpdateKey(*key)


def _in_snapshot(batches: tuple[StateBatch, ...]) -> list[ShareSnapshotValue.StateBatch]:
    return [ShareSnapshotValue.StateBatch(*batch) for batch in batches]
