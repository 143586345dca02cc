"""Groups, by the control port."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.instrumentation.faults import members
from kcompat.instrumentation.group_descriptions import describe_groups
from kcompat.instrumentation.groups import Group  # noqa: TC001 - a field's type, read at run time

if TYPE_CHECKING:
    from kcompat.instrumentation.control.control import Control
    from kcompat.instrumentation.control.operation import Nothing


class Groups(Struct):
    """The groups of the cluster, of every kind."""

    groups: list[Group]


class WhichMember(Struct, forbid_unknown_fields=True):
    """The choice of a member of a group: the only one, or the only one with a client id, or one by its id."""

    group: str
    member: str | None = None
    client_id: str | None = None


class ExpiredMember(Struct):
    """A member whose session has ended."""

    member: str


async def list_groups(control: Control, _: Nothing) -> Groups:
    """List the groups of every kind: members, assignments, committed offsets and lag."""
    return Groups(list((await describe_groups(control.brokers)).values()))


async def expire_member(control: Control, which: WhichMember) -> ExpiredMember:
    """End the session of a member now, as if it had sent nothing for its session timeout."""
    return ExpiredMember(members.expire_member(control.nodes, which.group, which.member, which.client_id))
