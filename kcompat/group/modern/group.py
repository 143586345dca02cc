"""State of all groups to which the broker assigns: members, target assignment, and their epochs.

Only replay changes the state. Each part has a latest view, for the next operation, and a committed one, for
descriptions. Kafka's counterpart: `ModernGroup`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kcompat.coordinator.timeline import TimelineDict
from kcompat.group import describe
from kcompat.group.modern.heartbeat import Refusal
from kcompat.group.requests import ListedGroup
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from enum import Enum

    from kcompat.cluster.image import ClusterImage, TopicImage
    from kcompat.coordinator.operation import Answer
    from kcompat.coordinator.timeline import Timeline
    from kcompat.group.base import GroupTransition, ShardGroups
    from kcompat.group.coordinator_config import GroupCoordinatorConfig
    from kcompat.group.offsets import CommittedOffset
    from kcompat.group.requests import DescribedGroup


NO_TIMESTAMP = 0
NO_ASSIGNMENT = -1
FIRST_GROUP_EPOCH = 1
"""Epoch of a group without a record; the first change raises it to 2."""


class ModernMember(Protocol):
    """A member, with the fields that it has in every kind of group."""

    @property
    def member_id(self) -> str:
        """Id of the member, chosen by the client."""


M = TypeVar("M", bound=ModernMember)
V = TypeVar("V")
T = TypeVar("T")
"""Target of a member."""


class GroupMetadata(Protocol):
    """Record of the group itself, of any kind."""

    @property
    def epoch(self) -> int:
        """The group epoch."""

    @property
    def metadata_hash(self) -> int:
        """Hash of the group's topics at the group epoch."""


class TargetMetadata(Protocol):
    """Record of a target assignment as a whole."""

    @property
    def assignment_epoch(self) -> int:
        """Group epoch for which the target was computed."""

    @property
    def assignment_timestamp(self) -> int:
        """Time in ms at which the target was computed."""


class GroupHeader(Struct, frozen=True):
    """Epochs in the records of a group. `assignment_timestamp` is in ms, 0 if it is unknown.

    A target assignment is out of date while its epoch is below the group epoch.
    """

    group_epoch: int = FIRST_GROUP_EPOCH
    metadata_hash: int = 0
    assignment_epoch: int = FIRST_GROUP_EPOCH
    assignment_timestamp: int = NO_TIMESTAMP


class ModernGroup(ABC, Generic[M, T]):
    """A group whose members have epochs and targets, replayed from the log.

    Each kind of group determines the topics on which it depends.
    """

    kind: ClassVar[str]
    """Protocol type, and the type of group that ListGroups shows."""

    def __init__(self, group_id: str, timeline: Timeline) -> None:
        self.group_id = group_id
        self.members: TimelineDict[str, M] = TimelineDict(timeline)
        self.targets: TimelineDict[str, T] = TimelineDict(timeline)
        self._headers: TimelineDict[str, GroupHeader] = TimelineDict(timeline)
        self._fresh_since: int | None = None
        """Group epoch from which the topics are known to match the hash."""
        self._seen: dict[str, TopicImage] = {}
        """Topics of the group at the last lookup."""

    # --- state in the log

    @property
    def header(self) -> GroupHeader:
        """Latest epochs of the group."""
        return self._headers.get("") or GroupHeader()

    @property
    def committed_header(self) -> GroupHeader:
        """Committed epochs of the group, for descriptions."""
        return self._headers.committed("") or GroupHeader()

    @property
    def group_epoch(self) -> int:
        """Epoch raised by each change that may need another target assignment."""
        return self.header.group_epoch

    @property
    def assignment_epoch(self) -> int:
        """Group epoch for which the target assignment was computed."""
        return self.header.assignment_epoch

    @property
    def is_stored(self) -> bool:
        """Whether the log has a record of the group itself, in addition to records of its offsets."""
        return bool(len(self.members) or len(self.targets) or len(self._headers))

    @property
    def is_empty(self) -> bool:
        """Whether the group has no members."""
        return not len(self.members)

    @abstractmethod
    def subscribed_names(self) -> Iterable[str]:
        """Return the topics that the group depends on."""

    # --- as a `Group`, which documents it

    @property
    def is_unused(self) -> bool:
        return self.is_empty

    @property
    def gives_way(self) -> bool:
        return self.is_empty

    def delete_error(self) -> ErrorCode:
        return ErrorCode.NONE if self.is_empty else ErrorCode.NON_EMPTY_GROUP

    def delete_offsets_error(self) -> ErrorCode:
        return ErrorCode.NONE

    def retention_start(self, committed: CommittedOffset) -> int | None:
        return committed.commit_timestamp

    def keep_alive(self, transition: GroupTransition, member_id: str) -> None:
        """Do nothing (`Group.keep_alive`): only heartbeats keep members of this kind of group alive."""

    def is_static(self, member_id: str) -> bool:  # noqa: ARG002 - not by the kind
        """Return False (`Group.is_static`): share and streams groups have no static members."""
        return False

    def subscribes_to(self, topic: str) -> bool:
        return topic in self.subscribed_names()

    def unloaded(self) -> list[Answer]:
        """Return nothing (`Group.unloaded`): no request is parked in such a group."""
        return []

    def described(self) -> DescribedGroup:
        return describe.of_another_kind(self.group_id)

    def listed(self) -> ListedGroup:
        return ListedGroup(self.group_id, self.kind, self.committed_state.value, self.kind)

    @property
    @abstractmethod
    def committed_state(self) -> Enum:
        """Committed state of the group, for descriptions; clients see its value."""

    @abstractmethod
    def described_as_kind(self, config: GroupCoordinatorConfig) -> Any:
        """Describe the group as the API of its kind shows it."""

    # --- replay

    def _set_header(self, offset: int, **changes: int) -> None:
        self._headers.set("", replace(self.header, **changes), offset)

    def replay_metadata(self, value: GroupMetadata | None, offset: int) -> None:
        """Apply the record of the group itself at `offset`, or its tombstone."""
        if value is not None:
            self._set_header(offset, group_epoch=value.epoch, metadata_hash=value.metadata_hash)
        elif len(self._headers):
            self._headers.set("", None, offset)

    def replay_target_metadata(self, value: TargetMetadata | None, offset: int) -> None:
        """Apply the record of the target assignment as a whole at `offset`, or its tombstone."""
        epoch = NO_ASSIGNMENT if value is None else value.assignment_epoch
        timestamp = NO_TIMESTAMP if value is None else value.assignment_timestamp
        self._set_header(offset, assignment_epoch=epoch, assignment_timestamp=timestamp)

    def set_member(self, member: M, offset: int) -> None:
        """Apply a record of a member at `offset`."""
        self.members.set(member.member_id, member, offset)

    def remove_member(self, member_id: str, offset: int) -> None:
        """Apply the tombstone of a member at `offset`; harmless if there is no such member."""
        if self.members.get(member_id) is not None:
            self.members.set(member_id, None, offset)

    def replay_member(
        self, member_id: str, value: V | None, offset: int, make: Callable[[str], M], add: Callable[[M, V], M]
    ) -> None:
        """Apply the record of a member's subscription and other fields at `offset`, or its tombstone.

        `add(member, value)` returns the member with the record's fields, and `make` a new member.
        """
        if value is None:
            self.remove_member(member_id, offset)
        else:
            self.set_member(add(self.members.get(member_id) or make(member_id), value), offset)

    def replay_current(
        self, member_id: str, value: V | None, offset: int, make: Callable[[str], M], add: Callable[[M, V], M]
    ) -> None:
        """Apply the record of a member's current assignment at `offset`, or its tombstone.

        The tombstone leaves the member without an assignment, in the epoch of a member that has left, until
        the tombstone of the member itself.
        """
        member = self.members.get(member_id)
        if value is not None:
            self.set_member(add(member or make(member_id), value), offset)
        elif member is not None:
            self.set_member(self._without_anything(member), offset)

    @abstractmethod
    def _without_anything(self, member: M) -> M:
        """Return the member after the tombstone of its current assignment."""

    def set_target(self, member_id: str, target: T | None, offset: int) -> None:
        """Apply the record of a member's target at `offset`, or its tombstone."""
        if target is not None or self.targets.get(member_id) is not None:
            self.targets.set(member_id, target, offset)

    # --- topics that change

    def refresh_due(self, image: ClusterImage) -> bool:
        """Return whether the topics of the group have changed since the last lookup.

        The epoch is compared too, in case the last write was lost.
        """
        if self._fresh_since is None or self.group_epoch < self._fresh_since:
            return True
        seen, topics = self._seen, image.topics
        return any(seen.get(name) is not topics.get(name) for name in self.subscribed_names())

    def refreshed(self, group_epoch: int, names: Iterable[str], image: ClusterImage) -> None:
        """Record that the topics were looked up, and that the next group epoch corresponds to them."""
        self._fresh_since = group_epoch
        self._seen = {name: image.topics[name] for name in names if name in image.topics}

    def check_invariants(self) -> None:
        """Assert the invariants of the group."""
        assert all(member_id == member.member_id for member_id, member in self.members.items())


G = TypeVar("G", bound="ModernGroup[Any, Any]")


def find(shard: ShardGroups, group_id: str, wanted: type[G]) -> G | Refusal:
    """Return the group of this id and kind, or the refusal."""
    group: object = shard.groups.get(group_id)
    if isinstance(group, wanted):
        return group
    what = "not found" if group is None else f"is not a {wanted.kind} group"
    return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} {what}.")


def find_for_member(shard: ShardGroups, group_id: str, wanted: type[G]) -> G | Refusal:
    """Return the group of this id and kind, or the refusal of a member that is not joining."""
    if shard.groups.get(group_id) is None:
        message = f"{wanted.kind.capitalize()} group {group_id} not found."
        return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, message)
    return find(shard, group_id, wanted)
