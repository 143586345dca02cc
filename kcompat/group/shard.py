"""The groups whose state is in one partition of `__consumer_offsets`.

State that the log holds (the offsets, and each group's `stored` record) changes only in `replay`. Waiting
members, timers and unwritten generations belong to a rebalance under way, which is lost in a restart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kcompat.coordinator.timeline import Timeline
from kcompat.coordinator.transition import Transition
from kcompat.group import bulk
from kcompat.group.base import Conversions
from kcompat.group.kinds.classic.group import ClassicGroup
from kcompat.group.kinds.classic.members import NO_TIMESTAMP
from kcompat.group.kinds.table import MODERN_KINDS
from kcompat.group.mixed.downgrade import downgrade
from kcompat.group.mixed.upgrade import upgrade
from kcompat.group.modern.topics import TopicHashes
from kcompat.group.offsets import CommittedOffset, GroupOffsets
from kcompat.protocol.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.cluster.image import ClusterImage
    from kcompat.coordinator.operation import Answer, CoordinatorRecord, ReplayPosition
    from kcompat.coordinator.timer import KeyedTimers
    from kcompat.group.base import Group, ShardGroups
    from kcompat.group.coordinator_config import GroupCoordinatorConfig
    from kcompat.group.events import GroupEvents
    from kcompat.group.expected import ExpectedMembers
    from kcompat.group.modern.kind import ModernKind
    from kcompat.topics import TopicPartition


_KIND_OF_KEY: Final = {key: kind for kind in MODERN_KINDS for key, _ in kind.records.classes}


class GroupShard:
    """Groups of all kinds in one partition of `__consumer_offsets`."""

    def __init__(
        self,
        timers: KeyedTimers,
        config: GroupCoordinatorConfig,
        new_uuid: Callable[[], str],
        image: Callable[[], ClusterImage],
        expected: ExpectedMembers,
        events: GroupEvents,
    ) -> None:
        self.timers = timers
        self.config = config
        self.new_uuid = new_uuid
        self.image = image
        self.expected = expected
        self.events = events
        self.conversions = Conversions(upgrade, downgrade)
        self.hashes = TopicHashes()
        self.topics_made_ms = 0
        self.groups: dict[str, Group] = {}
        self.offsets: dict[str, GroupOffsets] = {}
        """Offsets by group id; each group with offsets is among `groups`."""
        self.timeline = Timeline(is_loading=True)
        self._open_transactions: dict[int, set[str]] = {}

    def create_simple(self, group_id: str, now_ms: int = NO_TIMESTAMP) -> Group:
        """Return a new group without members, which holds offsets. No record of the group itself is
        written.
        """
        assert group_id not in self.groups
        group = self.groups[group_id] = ClassicGroup(group_id, now_ms)
        return group

    def forget_if_vacant(self, group_id: str) -> bool:
        """Drop a group that has no members, no assigned member ids, no record and no offsets."""
        group, offsets = self.groups.get(group_id), self.offsets.get(group_id)
        if offsets is not None and offsets.is_empty:
            del self.offsets[group_id]
            offsets = None
        if group is None or offsets is not None or group.is_stored or not group.is_unused:
            return False
        del self.groups[group_id]
        return True

    # --- replay

    def replay(self, record: CoordinatorRecord, position: ReplayPosition) -> None:
        """Apply one record."""
        key, value = record
        if isinstance(key, OffsetCommitKey):
            assert value is None or isinstance(value, OffsetCommitValue)
            self._replay_offset(key, value, position)
        elif isinstance(key, GroupMetadataKey):
            assert value is None or isinstance(value, GroupMetadataValue)
            self._replay_group(key.group, value)
        else:
            self._replay_modern(_KIND_OF_KEY[type(key)], record, position.offset)

    def replay_in_bulk(self, records: memoryview, base_offset: int, before: Callable[[], object]) -> int:
        """Apply many committed offsets at once; they are most of the records of a big partition."""
        is_first = True

        def find(group_id: str) -> dict[TopicPartition, CommittedOffset]:
            nonlocal is_first
            if is_first:
                before()
                is_first = False
            return self._offsets_of(group_id).filling()

        return bulk.fill(records, base_offset, find, CommittedOffset)

    def _offsets_of(self, group_id: str) -> GroupOffsets:
        """Return the offsets of a group, which is created if it is unknown."""
        offsets = self.offsets.get(group_id)
        if offsets is None:
            offsets = self.offsets[group_id] = GroupOffsets(self.timeline)
        if group_id not in self.groups:
            self.create_simple(group_id)
        return offsets

    def _replay_offset(
        self, key: OffsetCommitKey, value: OffsetCommitValue | None, position: ReplayPosition
    ) -> None:
        group_id, partition = key.group, (key.topic, key.partition)
        if value is None:
            offsets = self.offsets.get(group_id)
            if offsets is not None:
                offsets.replay(partition, None, position.offset)
                for producer_id in offsets.unstage(partition):
                    self._left_transaction(producer_id, group_id)
            return
        offsets = self._offsets_of(group_id)
        committed = CommittedOffset(
            value.offset,
            value.leader_epoch,
            value.metadata,
            value.commit_timestamp,
            value.expire_timestamp,
            position.offset,
        )
        if position.producer_id >= 0:
            offsets.stage(position.producer_id, partition, committed)
            self._open_transactions.setdefault(position.producer_id, set()).add(group_id)
        else:
            offsets.replay(partition, committed, position.offset)

    def _left_transaction(self, producer_id: int, group_id: str) -> None:
        """Record that a group has no offsets left in a producer's transaction."""
        group_ids = self._open_transactions[producer_id]
        group_ids.discard(group_id)
        if not group_ids:
            del self._open_transactions[producer_id]

    def _replay_group(self, group_id: str, value: GroupMetadataValue | None) -> None:
        group = self.groups.get(group_id)
        if not isinstance(group, ClassicGroup):
            if value is None:
                return
            group = self.groups[group_id] = ClassicGroup(group_id)
        group.replay(value)

    def _replay_modern(self, kind: ModernKind[Any, Any, Any], record: CoordinatorRecord, offset: int) -> None:
        """Apply a record to a group of this kind, which exists as long as the log has any record of it."""
        group_id: str = record.key.group_id  # type: ignore[attr-defined]
        group: Any = self.groups.get(group_id)
        if not isinstance(group, kind.group):
            if record.value is None:
                return
            group = kind.group(group_id, self.timeline)
            self.groups[group_id] = group
        kind.records.replay(group, record, offset)
        if not group.is_stored:
            del self.groups[group_id]
            if group_id in self.offsets:
                self.create_simple(group_id)

    def replay_end_transaction(self, producer_id: int, committed: bool, offset: int) -> None:
        """Apply a transaction marker to the groups that staged commits in it."""
        for group_id in sorted(self._open_transactions.pop(producer_id, ())):
            self.offsets[group_id].end_transaction(producer_id, committed, offset)

    def committed(self, offset: int) -> None:
        """Make the records up to `offset` visible to readers."""
        self.timeline.commit(offset)

    # --- loading and unloading

    def loaded(self, now_ms: int) -> None:
        """Start the sessions of the stored groups after the log has been replayed."""
        self.timeline.loaded()
        self.topics_made_ms = now_ms
        transition: Transition[ShardGroups] = Transition(
            self, now_ms
        )  # a loaded group has no parked requests, and no record is written
        for group_id in list(self.groups):
            if not self.forget_if_vacant(group_id):
                self.groups[group_id].loaded(transition)

    def unloaded(self) -> list[Answer]:
        """Return NOT_COORDINATOR responses to parked requests, so that members look for the new
        coordinator.
        """
        return [answer for group in self.groups.values() for answer in group.unloaded()]

    def check_invariants(self) -> None:
        """Assert the invariants of all groups."""
        for group in self.groups.values():
            group.check_invariants()
        assert self.offsets.keys() <= self.groups.keys()
        for producer_id, group_ids in self._open_transactions.items():
            assert all(producer_id in self.offsets[group_id].staged for group_id in group_ids)
