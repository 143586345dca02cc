"""ConsumerGroupHeartbeat: a member joins, stays, changes its subscription or leaves.

One heartbeat makes as many steps as possible: the request's fields change the group epoch, the group epoch
the target assignment, and the target the member's assignment. Each step is written if it changes anything.
Kafka's counterpart: `GroupMetadataManager.consumerGroupHeartbeat`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from kcompat.group.kinds.classic.group import ClassicGroup
from kcompat.group.kinds.consumer import progress, sessions
from kcompat.group.kinds.consumer.group import ConsumerGroup
from kcompat.group.kinds.consumer.members import CONSUMER
from kcompat.group.kinds.consumer.membership import fenced_instance, find_or_join
from kcompat.group.modern.group import find, find_for_member
from kcompat.group.modern.heartbeat import (
    JOIN,
    LEAVE_FOR_A_WHILE,
    HeartbeatAnswer,
    Refusal,
    full_group,
    unknown_member,
)
from kcompat.group.modern.own_settings import settings_of

if TYPE_CHECKING:
    from kcompat.group.base import GroupTransition
    from kcompat.group.kinds.consumer.member import ConsumerMember
    from kcompat.group.kinds.consumer.requests import ConsumerHeartbeatRequest
    from kcompat.group.modern.group import GroupHeader


NEW_TARGET_MS: Final = 5_000
"""Time in ms for which a target assignment counts as new."""
LEAST_INTERVAL_MS: Final = 250
INTERVAL_PER_MEMBER_MS: Final = 5


def leave(transition: GroupTransition, request: ConsumerHeartbeatRequest) -> HeartbeatAnswer | Refusal:
    """Remove a member that leaves. A static member that will return is only marked as absent."""
    group = find(transition.shard, request.group_id, ConsumerGroup)
    if isinstance(group, Refusal):
        return group
    member: ConsumerMember | None
    if request.instance_id is None:
        member = group.members.get(request.member_id)
        refusal = unknown_member(request.group_id, request.member_id)
    else:
        member, found = fenced_instance(group, request.instance_id, request.member_id)
        refusal = found or unknown_member(request.group_id, request.member_id)
    if member is None:
        return refusal
    if request.instance_id is not None and request.member_epoch == LEAVE_FOR_A_WHILE:
        sessions.leave_for_a_while(transition, request.group_id, member)
    else:
        sessions.fence(transition, group, [member])
    return HeartbeatAnswer(member_id=request.member_id, member_epoch=request.member_epoch)


def go_on(transition: GroupTransition, request: ConsumerHeartbeatRequest) -> HeartbeatAnswer | Refusal:
    """Add a member, or advance it towards its target."""
    settings = settings_of(transition.shard.image(), transition.shard.config.consumer, request.group_id)
    group = _group(transition, request)
    if isinstance(group, Refusal):
        return group
    if len(group.members) >= settings.max_size and group.members.get(request.member_id) is None:
        return full_group(CONSUMER, settings.max_size)
    before = find_or_join(transition, group, request, request.member_id or transition.shard.new_uuid())
    if isinstance(before, Refusal):
        return before
    after = _as_it_wants(before, request)
    noted = progress.take_note(transition, group, before, after, request.may_describe)
    if isinstance(noted, Refusal):
        return noted
    updated = progress.go_on(transition, group, before, after, noted, request.owned, settings)
    if isinstance(updated, Refusal):
        return updated
    sessions.keep_alive(transition, group.group_id, updated.member_id, settings.session_timeout_ms)
    interval = interval_ms(
        settings.heartbeat_interval_ms, group.header, noted.group_epoch, len(group.members), transition.now_ms
    )
    return _answer(request, before, updated, interval)


def _group(transition: GroupTransition, request: ConsumerHeartbeatRequest) -> ConsumerGroup | Refusal:
    """Return the group of the request, or a new one for a member that joins.

    A new group replaces no group or a classic group without members; a classic group with members is
    upgraded. A new group is added to the shard when its first records are replayed.
    """
    group: object = transition.shard.groups.get(request.group_id)
    if request.member_epoch != JOIN or not isinstance(group, ClassicGroup | None):
        return find_for_member(transition.shard, request.group_id, ConsumerGroup)
    if group is not None and not group.gives_way:
        made = transition.shard.conversions.upgrade(transition, group)
        assert isinstance(made, ConsumerGroup | Refusal)
        return made
    if group is not None:
        group.write_tombstones(transition)
    return ConsumerGroup(request.group_id, transition.shard.timeline)


def _as_it_wants(member: ConsumerMember, request: ConsumerHeartbeatRequest) -> ConsumerMember:
    """Return the member with the fields of the request. A member that sends this heartbeat has no classic
    protocols.
    """
    fields: dict[str, object] = {
        name: value
        for name, value in (
            ("instance_id", request.instance_id),
            ("rack_id", request.rack_id),
            ("server_assignor", request.server_assignor),
            ("subscribed_topics", request.subscribed_topics),
            ("subscribed_regex", request.subscribed_regex),
        )
        if value is not None
    }
    if request.rebalance_timeout_ms != -1:
        fields["rebalance_timeout_ms"] = request.rebalance_timeout_ms
    return replace(
        member, **fields, client_id=request.client_id, client_host=request.client_host, classic=None
    )


def _answer(
    request: ConsumerHeartbeatRequest,
    before: ConsumerMember,
    after: ConsumerMember,
    interval_ms: int,
) -> HeartbeatAnswer:
    tells = request.member_epoch == JOIN or request.is_full or before.assigned != after.assigned
    return HeartbeatAnswer(
        member_id=after.member_id,
        member_epoch=after.member_epoch,
        heartbeat_interval_ms=interval_ms,
        assigned={topic: tuple(sorted(partitions)) for topic, partitions in after.assigned.items()}
        if tells
        else None,
    )


def interval_ms(setting_ms: int, header: GroupHeader, group_epoch: int, members: int, now_ms: int) -> int:
    """Return the interval in ms at which members of a group in this epoch are asked to send heartbeats.

    A member learns only from its heartbeats which partitions it has to revoke and which have become free for
    it. Therefore the members of a group with a new target assignment send heartbeats more often than
    `setting_ms`; in a stable group they keep to it. The gain shrinks and the cost grows with the number of
    members.
    """
    if group_epoch <= header.assignment_epoch and now_ms >= header.assignment_timestamp + NEW_TARGET_MS:
        return setting_ms
    return min(setting_ms, max(LEAST_INTERVAL_MS, INTERVAL_PER_MEMBER_MS * members))
