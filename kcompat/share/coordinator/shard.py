"""The share partitions whose state lives in one partition of `__share_group_state`.

Only `replay` changes the logged state. Kafka's counterparts: `ShareCoordinatorShard`, and
`ShareCoordinatorOffsetsManager` for redundant records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kcompat.coordinator.timeline import Timeline, TimelineDict
from kcompat.protocol.messages.share_state_records import (
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateKey,
    ShareUpdateValue,
)
from kcompat.share.coordinator.state import ShareState, after_snapshot, after_update
from kcompat.share.key import SharePartitionKey

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.coordinator.operation import Answer, CoordinatorRecord, ReplayPosition

_LAST_TOMBSTONE = "last tombstone"


class ShareCoordinatorConfig(Struct, frozen=True):
    """A snapshot of the settings of a share coordinator. Times in ms."""

    updates_per_snapshot: int
    write_timeout_ms: int
    prune_interval_ms: int
    cold_snapshot_interval_ms: int

    @classmethod
    def read(cls, get: Callable[[str], Any]) -> ShareCoordinatorConfig:
        """Read the settings through `get`, which returns the value of a Kafka key."""
        return cls(
            updates_per_snapshot=get("share.coordinator.snapshot.update.records.per.snapshot"),
            write_timeout_ms=get("share.coordinator.write.timeout.ms"),
            prune_interval_ms=get("share.coordinator.state.topic.prune.interval.ms"),
            cold_snapshot_interval_ms=get("share.coordinator.cold.partition.snapshot.interval.ms"),
        )


class ShareShard:
    """The share partitions in one partition of `__share_group_state`.

    `partition_count(topic_id)` returns the number of partitions of a topic, 0 if it does not exist.
    """

    def __init__(self, config: ShareCoordinatorConfig, partition_count: Callable[[bytes], int]) -> None:
        self.config = config
        self.partition_count = partition_count
        self._timeline = Timeline(is_loading=True)
        self.states: TimelineDict[SharePartitionKey, ShareState] = TimelineDict(self._timeline)
        self._tombstones: TimelineDict[str, int] = TimelineDict(self._timeline)

    @property
    def redundant_before(self) -> int | None:
        """Offset below which all committed records of the log are redundant; None if no record is.

        The offset is the lowest among the last snapshots of all share partitions. Without snapshots it is the
        offset of the last tombstone.
        """
        snapshots = [state.snapshot_offset for _, state in self.states.committed_items()]
        oldest = min(snapshots) if snapshots else self._tombstones.committed(_LAST_TOMBSTONE)
        return oldest or None

    # --- replay

    def replay(self, record: CoordinatorRecord, position: ReplayPosition) -> None:
        """Apply one record."""
        key, value = record
        if isinstance(key, ShareSnapshotKey):
            assert value is None or isinstance(value, ShareSnapshotValue)
            self._replay_snapshot(_read_key(key), value, position.offset)
        elif isinstance(key, ShareUpdateKey) and value is not None:
            assert isinstance(value, ShareUpdateValue)
            self._replay_update(_read_key(key), value, position.offset)

    def _replay_snapshot(self, key: SharePartitionKey, value: ShareSnapshotValue | None, offset: int) -> None:
        if value is None:
            if self.states.get(key) is not None:
                self.states.set(key, None, offset)
            self._tombstones.set(_LAST_TOMBSTONE, offset, offset)
        else:
            self.states.set(key, after_snapshot(self.states.get(key), value, offset), offset)

    def _replay_update(self, key: SharePartitionKey, value: ShareUpdateValue, offset: int) -> None:
        """Replay an update, unless its snapshot was deleted from the head of the log.

        In that case a later snapshot or tombstone in the log replaces the update.
        """
        known = self.states.get(key)
        if known is not None:
            self.states.set(key, after_update(known, value), offset)

    def replay_end_transaction(self, producer_id: int, committed: bool, offset: int) -> None:
        """Ignore a transaction marker: no transaction writes to this topic."""

    def committed(self, offset: int) -> None:
        """Make the records up to `offset` visible to readers."""
        self._timeline.commit(offset)

    # --- loading and unloading

    def loaded(self, now_ms: int) -> None:  # noqa: ARG002
        """Begin to show readers only committed records. The shard has no timers to start."""
        self._timeline.loaded()

    def unloaded(self) -> list[Answer]:
        """Return nothing: no request is parked here."""
        return []

    def check_invariants(self) -> None:
        """Assert the invariants of each state."""
        for state in self.states.values():
            assert state.state_epoch <= state.fencing_state_epoch
            assert state.leader_epoch <= state.fencing_leader_epoch
            assert state.updates <= self.config.updates_per_snapshot
            behind = state.start_offset
            for batch in state.batches:
                assert behind <= batch.first_offset <= batch.last_offset
                behind = batch.last_offset + 1


def _read_key(key: ShareSnapshotKey | ShareUpdateKey) -> SharePartitionKey:
    return SharePartitionKey(key.group_id, key.topic_id, key.partition)
