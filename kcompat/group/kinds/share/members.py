"""Members and share partitions of a share group, replayed from the log. Makes no decisions."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcompat.coordinator.timeline import TimelineDict
from kcompat.group.assignors.spec import NO_PARTITIONS
from kcompat.group.kinds.share.initialization import Initialization
from kcompat.group.modern.heartbeat import LEAVE
from kcompat.group.modern.subscribed import SubscribedGroup

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.coordinator.timeline import Timeline


STABLE = 0
"""State of every member of a share group, as its record has it."""


class ShareMember(Struct, frozen=True):
    """A member of a share group. It gets its target at once, as no other member has to revoke partitions
    first.
    """

    member_id: str
    member_epoch: int = 0
    previous_member_epoch: int = -1
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    subscribed_topics: frozenset[str] = frozenset()
    assigned: Mapping[bytes, frozenset[int]] = NO_PARTITIONS


SHARE = "share"
"""Protocol type of share groups, and the name of this kind of group."""

NOTHING_BEGUN = Initialization()


class ShareGroupState(Enum):
    """States of a share group; clients see their values."""

    EMPTY = "Empty"
    STABLE = "Stable"


class ShareMembers(SubscribedGroup[ShareMember]):
    """Members of one share group. Only replay changes the state that has to survive a restart."""

    kind = SHARE

    def __init__(self, group_id: str, timeline: Timeline) -> None:
        super().__init__(group_id, timeline)
        self._initialization: TimelineDict[str, Initialization] = TimelineDict(timeline)
        self.requested_ms: dict[bytes, int] = {}
        """Time in ms at which the initialization of each topic's share partitions was last requested."""

    @property
    def is_stored(self) -> bool:
        return super().is_stored or bool(len(self._initialization))

    @property
    def initialization(self) -> Initialization:
        """Latest initialization state of the group's share partitions."""
        return self._initialization.get("") or NOTHING_BEGUN

    @property
    def committed_initialization(self) -> Initialization:
        """Committed initialization state of the group's share partitions, for descriptions."""
        return self._initialization.committed("") or NOTHING_BEGUN

    @property
    def committed_state(self) -> ShareGroupState:
        """Committed state of the group, for descriptions."""
        has_members = any(True for _ in self.members.committed_items())
        return ShareGroupState.STABLE if has_members else ShareGroupState.EMPTY

    @property
    def knows_topics(self) -> bool:
        """Whether the log has a record of the group's share partitions."""
        return bool(len(self._initialization))

    def set_initialization(self, state: Initialization | None, offset: int) -> None:
        """Apply the record of the group's share partitions at `offset`, or its tombstone."""
        if state is not None or len(self._initialization):
            self._initialization.set("", state, offset)

    def _without_anything(self, member: ShareMember) -> ShareMember:
        return replace(member, member_epoch=LEAVE, previous_member_epoch=LEAVE, assigned=NO_PARTITIONS)

    def check_invariants(self) -> None:
        """Assert the invariants of the group."""
        super().check_invariants()
        assert all(member.member_epoch <= self.group_epoch for member in self.members.values())
        assert self.assignment_epoch <= self.group_epoch
        state = self.initialization
        assert not state.deleting & (state.initializing.keys() | state.initialized.keys())
