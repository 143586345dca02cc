"""Description of a kind of group to which the broker assigns, as one value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from msgspec import Struct

from kcompat.group.modern.group import find
from kcompat.group.modern.heartbeat import JOIN, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.group.base import GroupTransition, ShardGroups
    from kcompat.group.coordinator_config import GroupCoordinatorConfig
    from kcompat.group.modern.group import ModernGroup
    from kcompat.group.modern.records import ModernRecords
    from kcompat.protocol.errors import ErrorCode


class HeartbeatRequest(Protocol):
    """Fields that the heartbeats of all kinds of groups have."""

    @property
    def group_id(self) -> str:
        """Id of the group."""

    @property
    def member_id(self) -> str:
        """Id of the member; empty for one that has none yet."""

    @property
    def member_epoch(self) -> int:
        """Epoch of the member, or one of the special values in `kcompat.group.modern.heartbeat`."""


Q = TypeVar("Q", bound=HeartbeatRequest)
"""Type of a heartbeat request."""
A = TypeVar("A")
"""Type of the response to a heartbeat."""
D = TypeVar("D")
"""Type of a group's description by the API of its kind."""


class ModernKind(Struct, Generic[Q, A, D], frozen=True):
    """A kind of group: the functions in which it differs from other kinds."""

    group: type[ModernGroup[Any, Any]]
    records: ModernRecords[Any, Any]
    request_refusal: Callable[[Q, GroupCoordinatorConfig], Refusal | None]
    """Returns the refusal of a heartbeat that is invalid in any state of its group, or None."""
    leave: Callable[[GroupTransition, Q], A | Refusal]
    """Handles a heartbeat of a member that leaves."""
    go_on: Callable[[GroupTransition, Q], A | Refusal]
    """Handles a heartbeat of a member that joins or stays."""
    refused: Callable[[ErrorCode, str | None], A]
    """Makes the response to a heartbeat that is refused."""
    undescribed: Callable[[str, ErrorCode, str | None], D]
    """Makes the description of a group that cannot be described, from its id and the error."""

    def heartbeat(self, transition: GroupTransition, request: Q) -> A:
        """Handle the heartbeat of a member."""
        outcome = (self.leave if request.member_epoch < JOIN else self.go_on)(transition, request)
        if isinstance(outcome, Refusal):
            transition.take_back()
            return self.refused(outcome.error, outcome.message)
        return outcome

    def describe(self, shard: ShardGroups, group_id: str) -> D:
        """Return the description of a group.

        The error is GROUP_ID_NOT_FOUND if the group does not exist or is of another kind.
        """
        group = find(shard, group_id, self.group)
        if isinstance(group, Refusal):
            return self.undescribed(group_id, group.error, group.message)
        described: D = group.described_as_kind(shard.config)
        return described
