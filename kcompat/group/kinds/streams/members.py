"""Members and topology of a streams group, replayed from the log. Makes no decisions.

Kafka's counterpart: `StreamsGroup`.
"""

from __future__ import annotations

from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcompat.coordinator.timeline import TimelineDict
from kcompat.group.kinds.streams.member import StreamsMember
from kcompat.group.kinds.streams.tasks import NO_TASKS, NONE_HELD, Task, Tasks
from kcompat.group.modern.group import ModernGroup
from kcompat.group.modern.heartbeat import LEAVE
from kcompat.group.modern.holders import Holders
from kcompat.protocol.constants import NO_EPOCH

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcompat.coordinator.timeline import Timeline
    from kcompat.group.kinds.streams.configured import ConfiguredTopology
    from kcompat.group.kinds.streams.topology import Topology

STREAMS = "streams"
"""Protocol type of streams groups, and the name of this kind of group."""


class StreamsState(Enum):
    """States of a streams group; clients see their values."""

    EMPTY = "Empty"
    NOT_READY = "NotReady"
    """Topics that the topology needs do not exist."""
    ASSIGNING = "Assigning"
    """The target assignment is older than the group epoch."""
    RECONCILING = "Reconciling"
    """At least one member does not own its target assignment yet."""
    STABLE = "Stable"


class Basis(Struct, frozen=True):
    """Inputs of a group epoch besides the topics: the topology that matched them, and the assignment configs,
    by the names in Kafka's records.
    """

    validated_epoch: int = NO_EPOCH
    assignment_configs: Mapping[str, str] = MappingProxyType({})


class StreamsMembers(ModernGroup[StreamsMember, Tasks]):
    """Members of one streams group. Only replay changes the state that has to survive a restart."""

    kind = STREAMS

    def __init__(self, group_id: str, timeline: Timeline) -> None:
        super().__init__(group_id, timeline)
        self._topologies: TimelineDict[str, Topology] = TimelineDict(timeline)
        self._bases: TimelineDict[str, Basis] = TimelineDict(timeline)
        self._required: frozenset[str] = frozenset()
        self._active: Holders[Task] = Holders()
        self._copies: dict[Task, set[str]] = {}
        self.configured: ConfiguredTopology | None = None
        """Topology matched with the topics of the last lookup; None before the first."""
        self.configured_hash = 0
        """Hash of the topics of the last lookup. The log has an older hash if the write failed."""
        self.endpoint_epoch = 0
        """Epoch of the endpoints, raised when their queryable partitions change."""
        self.shutdown_by: str | None = None
        """Id of the member that requested the shutdown of the whole application."""

    # --- state in the log

    @property
    def is_stored(self) -> bool:
        return super().is_stored or bool(len(self._topologies))

    @property
    def topology(self) -> Topology | None:
        """Latest topology of the group."""
        return self._topologies.get("")

    @property
    def committed_topology(self) -> Topology | None:
        """Committed topology of the group, for descriptions."""
        return self._topologies.committed("")

    @property
    def basis(self) -> Basis:
        """Basis of the current group epoch."""
        return self._bases.get("") or Basis()

    @property
    def committed_state(self) -> StreamsState:
        """Committed state of the group, for descriptions."""
        members = [member for _, member in self.members.committed_items()]
        header, topology = self.committed_header, self.committed_topology
        basis = self._bases.committed("") or Basis()
        if not members:
            return StreamsState.EMPTY
        if topology is None or topology.epoch != basis.validated_epoch:
            return StreamsState.NOT_READY
        if header.group_epoch > header.assignment_epoch:
            return StreamsState.ASSIGNING
        if all(member.is_reconciled_to(header.assignment_epoch) for member in members):
            return StreamsState.STABLE
        return StreamsState.RECONCILING

    def target(self, member_id: str) -> Tasks:
        """Return the tasks of a member in the target assignment."""
        return self.targets.get(member_id) or NO_TASKS

    def subscribed_names(self) -> Iterable[str]:
        return self._required

    # --- members by the tasks that they have or have yet to revoke

    def is_active(self, task: Task) -> bool:
        """Return whether any member has this active task."""
        return task in self._active

    def is_active_at(self, task: Task, process_id: str) -> bool:
        """Return whether a member in this process has this active task."""
        return self._is_in(self._active.get(task), process_id)

    def is_copied_at(self, task: Task, process_id: str) -> bool:
        """Return whether a member in this process has this task as a standby or warm-up task."""
        return any(self._is_in(member_id, process_id) for member_id in self._copies.get(task, ()))

    def _is_in(self, member_id: str | None, process_id: str) -> bool:
        member = None if member_id is None else self.members.get(member_id)
        return member is not None and member.process_id == process_id

    # --- replay

    def set_topology(self, topology: Topology | None, offset: int) -> None:
        """Apply the record of the topology at `offset`, or its tombstone."""
        if topology is not None or len(self._topologies):
            self._topologies.set("", topology, offset)
            self._required = frozenset() if topology is None else topology.required_topics()

    def set_basis(self, basis: Basis | None, offset: int) -> None:
        """Apply the basis in the group's own record at `offset`; None for a tombstone."""
        if basis is not None or len(self._bases):
            self._bases.set("", basis, offset)

    def set_member(self, member: StreamsMember, offset: int) -> None:
        self._follow(self.members.get(member.member_id), member)
        super().set_member(member, offset)

    def remove_member(self, member_id: str, offset: int) -> None:
        """Remove a member (`ModernGroup.remove_member`); the last one clears the request for a shutdown."""
        self._follow(self.members.get(member_id), StreamsMember(member_id))
        super().remove_member(member_id, offset)
        if self.is_empty:
            self.shutdown_by = None

    def _follow(self, before: StreamsMember | None, after: StreamsMember) -> None:
        """Update the owners of tasks for a changed member."""
        member_id = after.member_id
        self._active.changed(member_id, () if before is None else before.each_active(), after.each_active())
        for task in () if before is None else before.each_copied():
            holders = self._copies.get(task, set())
            holders.discard(member_id)
            if not holders:
                self._copies.pop(task, None)
        for task in after.each_copied():
            self._copies.setdefault(task, set()).add(member_id)

    def _without_anything(self, member: StreamsMember) -> StreamsMember:
        return replace(
            member, member_epoch=LEAVE, previous_member_epoch=LEAVE, assigned=NONE_HELD, revoking=NONE_HELD
        )

    def check_invariants(self) -> None:
        """Assert the invariants of the group."""
        super().check_invariants()
        members = dict(self.members.items())
        active = [(task, member_id) for member_id, member in members.items() for task in member.each_active()]
        copies: dict[Task, set[str]] = {}
        for member_id, member in members.items():
            for task in member.each_copied():
                copies.setdefault(task, set()).add(member_id)
        assert len(active) == len(dict(active)), "a task is active twice"
        assert dict(self._active.items()) == dict(active)
        assert self._copies == copies
        assert all(member.member_epoch <= self.group_epoch for member in members.values())
        assert self.assignment_epoch <= self.group_epoch
