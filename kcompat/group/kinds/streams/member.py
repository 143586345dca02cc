"""A member of a streams group, replayed from the log: its process, its tasks and its epochs.

Kafka's counterparts: `StreamsGroupMember`, `MemberState`.
"""

from __future__ import annotations

from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from kcompat.group.kinds.streams.tasks import NONE_HELD, HeldTasks
from kcompat.protocol.constants import NO_EPOCH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kcompat.group.kinds.streams.tasks import Task

NO_TAGS: Mapping[str, str] = MappingProxyType({})


class StreamsMemberState(IntEnum):
    """States of a member on the way to its target; the record's numbers differ from those of consumers."""

    STABLE = 1
    """The member owns exactly the tasks of its target assignment at its epoch."""
    UNREVOKED_TASKS = 2
    """The member has yet to revoke tasks, and keeps its old epoch until then."""
    UNRELEASED_TASKS = 3
    """The member is in its new epoch, but other members have yet to revoke some of its tasks."""
    UNKNOWN = 127
    """A state that a newer broker wrote."""

    @classmethod
    def _missing_(cls, _value: object) -> StreamsMemberState:
        return cls.UNKNOWN


class UserEndpoint(NamedTuple):
    """Address at which the application answers queries of its state stores."""

    host: str
    port: int


class StreamsMember(Struct, frozen=True):
    """A member, which is one thread of a process. Times are in ms, -1 if the client has not sent them."""

    member_id: str
    member_epoch: int = 0
    previous_member_epoch: int = 0
    state: StreamsMemberState = StreamsMemberState.STABLE
    instance_id: str | None = None
    """Instance id in the member's record; Kafka 4.3 accepts none from clients."""
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    topology_epoch: int = NO_EPOCH
    process_id: str = ""
    endpoint: UserEndpoint | None = None
    client_tags: Mapping[str, str] = NO_TAGS
    assigned: HeldTasks = NONE_HELD
    revoking: HeldTasks = NONE_HELD
    """Tasks that the member has yet to revoke."""

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        """Return whether the member owns its target assignment of the epoch `assignment_epoch`."""
        return self.state is StreamsMemberState.STABLE and self.member_epoch == assignment_epoch

    def assignment_epoch(self, subtopology: str, number: int) -> int | None:
        """Return the epoch in which the member got an active task that it has or has yet to revoke; None for
        any other.
        """
        for held in (self.assigned, self.revoking):
            epoch = held.active.get(subtopology, {}).get(number)
            if epoch is not None:
                return epoch
        return None

    def each_active(self) -> Iterator[Task]:
        """Return the active tasks that the member has or has yet to revoke."""
        for held in (self.assigned, self.revoking):
            yield from held.each_active()

    def each_copied(self) -> Iterator[Task]:
        """Return the standby and warm-up tasks that the member has or has yet to revoke."""
        for held in (self.assigned, self.revoking):
            yield from held.each_copied()
