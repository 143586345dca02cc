"""Expiration of group members' sessions, as if the members had sent nothing for their session timeout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcompat.errors import UsageError
from kcompat.group.presence import session_key
from kcompat.instrumentation.faults.interventions import note

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.node.broker import BrokerNode


def expire_member(
    nodes: Iterable[BrokerNode], group_id: str, member_id: str | None = None, client_id: str | None = None
) -> str:
    """End the session of a member of a group of any kind, at its coordinator among these brokers; return the
    id of the member. Its client learns so at its next heartbeat.

    Without `member_id` it is the only member, or the only one with `client_id`.

    Raises:
        UsageError: there is no such member, or several, or the member waits in a rebalance.
    """
    shards = ((node, shard) for node in nodes for _, shard in node.parts.coordinators.groups.runtime.active())
    node, shard = next((each for each in shards if group_id in each[1].groups), (None, None))
    group: Any = None if shard is None else shard.groups[group_id]
    members: dict[str, Any] = {} if group is None else dict(group.members.items())
    if node is None or shard is None or not members:
        raise UsageError(f"the group {group_id!r} has no members: let a consumer join it first")
    chosen = _chosen(group_id, members, member_id, client_id)
    if not shard.timers.expire(session_key(group_id, chosen), shard.events.by_a_test):
        raise UsageError(
            f"the member {chosen!r} of {group_id!r} waits in a rebalance, and cannot expire: "
            "wait until the group is stable"
        )
    note([node], f"The session of member {chosen} of group {group_id} was ended")
    return chosen


def _chosen(group_id: str, members: dict[str, Any], member_id: str | None, client_id: str | None) -> str:
    if member_id is not None:
        found = [member_id] if member_id in members else []
    else:
        found = [each for each, member in members.items() if client_id in (None, member.client_id)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(f"{each} (client id {member.client_id})" for each, member in members.items())
    problem = "several such members" if found else "no such member"
    raise UsageError(f"the group {group_id!r} has {problem}: name one of {known}")
