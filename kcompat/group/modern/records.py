"""Records of groups to which the broker assigns: writing and replay.

The kinds differ in the classes of their records, and in the content of a member and its target.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from kcompat.group.assignors.spec import partitions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcompat.coordinator.operation import CoordinatorRecord
    from kcompat.group.base import GroupTransition
    from kcompat.group.modern.group import ModernGroup
    from kcompat.protocol.message import Message

    RecordClasses = tuple[type[Message], type[Message]]
    """Classes of a record's key and value."""
    Replay = Callable[[Any, Any, Any, int], None]
    """`replay(group, key, value, offset)` applies one record; a value of None is a tombstone."""

M = TypeVar("M")
"""Type of a member."""
T = TypeVar("T")
"""Type of a member's target."""


class ModernRecords(ABC, Generic[M, T]):
    """Records of one kind of group: their classes, and the conversion of members and targets."""

    group: ClassVar[RecordClasses]
    """Record of the group epoch, and of the hash of the topics at that epoch."""
    member: ClassVar[RecordClasses]
    """Record of a member's subscription and other fields."""
    target_epoch: ClassVar[RecordClasses]
    """Record of the group epoch for which the target assignment was computed, and the time of that."""
    target: ClassVar[RecordClasses]
    """Record of a member's target."""
    current: ClassVar[RecordClasses]
    """Record of a member's current assignment."""
    others: ClassVar[Mapping[RecordClasses, Replay]]
    """Records that only this kind of group has, with the functions that replay them."""

    def __init__(self) -> None:
        replays: dict[RecordClasses, Replay] = {
            self.group: self.replay_group,
            self.member: self._replay_member,
            self.target_epoch: _replay_target_epoch,
            self.target: self._replay_target,
            self.current: self._replay_current,
            **self.others,
        }
        self.classes = tuple(replays)
        self._replays = {key: replay for (key, _), replay in replays.items()}

    # --- conversions of each kind

    @abstractmethod
    def new_member(self, member_id: str) -> M:
        """Return a member in which only the id is set."""

    @abstractmethod
    def member_value(self, member: M) -> Message:
        """Return the record of a member's subscription and other fields."""

    @abstractmethod
    def with_member(self, member: M, value: Any) -> M:
        """Return the member with the fields of the record."""

    @abstractmethod
    def current_value(self, member: M) -> Message:
        """Return the record of a member's current assignment."""

    @abstractmethod
    def with_current(self, member: M, value: Any) -> M:
        """Return the member with the current assignment of the record."""

    @abstractmethod
    def target_value(self, target: T) -> Message:
        """Return the record of a member's target."""

    @abstractmethod
    def target_of(self, value: Any) -> T:
        """Return the target in a record."""

    # --- writing

    def write_member(self, transition: GroupTransition, group_id: str, member: Any) -> None:
        """Write the record of a member's subscription and other fields."""
        transition.write(_key(self.member, group_id, member.member_id), self.member_value(member))

    def write_current(self, transition: GroupTransition, group_id: str, member: Any) -> None:
        """Write a member's current assignment."""
        transition.write(_key(self.current, group_id, member.member_id), self.current_value(member))

    def write_target(self, transition: GroupTransition, group_id: str, member_id: str, target: T) -> None:
        """Write a member's target."""
        transition.write(_key(self.target, group_id, member_id), self.target_value(target))

    def write_target_epoch(
        self, transition: GroupTransition, group_id: str, epoch: int, timestamp_ms: int
    ) -> None:
        """Write the group epoch for which the targets were computed, and the time of the computation."""
        transition.write(_key(self.target_epoch, group_id), _value(self.target_epoch, epoch, timestamp_ms))

    def write_epoch(self, transition: GroupTransition, group_id: str, *fields: Any) -> None:
        """Write the record of the group: its epoch, the hash of its topics, and the fields of its kind."""
        transition.write(_key(self.group, group_id), _value(self.group, *fields))

    def write_member_tombstones(self, transition: GroupTransition, group_id: str, member_id: str) -> None:
        """Write the tombstones of a member: its current assignment, its target, and the member itself."""
        for classes in (self.current, self.target, self.member):
            transition.write(_key(classes, group_id, member_id), None)

    def write_group_tombstones(
        self,
        transition: GroupTransition,
        group_id: str,
        member_ids: Iterable[str],
        others: Iterable[Message] = (),
    ) -> None:
        """Write the tombstones of a whole group; `others` are the keys of records that only this kind has."""
        for member_id in member_ids:
            self.write_member_tombstones(transition, group_id, member_id)
        transition.write(_key(self.target_epoch, group_id), None)
        for key in others:
            transition.write(key, None)
        transition.write(_key(self.group, group_id), None)

    # --- replaying

    def replay(self, group: ModernGroup[Any, Any], record: CoordinatorRecord, offset: int) -> None:
        """Apply one record, whose key is of one of `classes`, to its group.

        Compaction keeps only the last record of each key, in its place, so a tombstone may come without its
        record, and the records of one member may be far apart.
        """
        key, value = record
        self._replays[type(key)](group, key, value, offset)

    def replay_group(self, group: Any, _key: Any, value: Any, offset: int) -> None:
        """Apply the record of the group itself."""
        group.replay_metadata(value, offset)

    def _replay_member(self, group: Any, key: Any, value: Any, offset: int) -> None:
        group.replay_member(key.member_id, value, offset, self.new_member, self.with_member)

    def _replay_current(self, group: Any, key: Any, value: Any, offset: int) -> None:
        group.replay_current(key.member_id, value, offset, self.new_member, self.with_current)

    def _replay_target(self, group: Any, key: Any, value: Any, offset: int) -> None:
        group.set_target(key.member_id, None if value is None else self.target_of(value), offset)


class SubscribedRecords(ModernRecords[M, Mapping[bytes, frozenset[int]]]):
    """Records of a kind of group that assigns partitions."""

    target_row: ClassVar[type[Any]]
    """Class of the row for one topic in the record of a target."""

    def target_value(self, target: Mapping[bytes, frozenset[int]]) -> Message:
        rows = [self.target_row(topic_id, sorted(indexes)) for topic_id, indexes in target.items()]
        return _value(self.target, rows)

    def target_of(self, value: Any) -> Mapping[bytes, frozenset[int]]:
        return partitions((row.topic_id, row.partitions) for row in value.topic_partitions)


def _replay_target_epoch(group: Any, _key: Any, value: Any, offset: int) -> None:
    group.replay_target_metadata(value, offset)


def _key(classes: RecordClasses, *ids: str) -> Message:
    make: Callable[..., Message] = classes[0]
    return make(*ids)


def _value(classes: RecordClasses, *fields: Any) -> Message:
    make: Callable[..., Message] = classes[1]
    return make(*fields)
