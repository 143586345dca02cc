"""ConsumerGroupHeartbeat: a member joins, goes on, changes its mind or leaves.

One heartbeat goes as far as it can: the member's wishes change the group epoch, the group epoch the target
assignment, and the target what the member is told to have. Each step is written where it changes anything.
Kafka's counterpart: `GroupMetadataManager.consumerGroupHeartbeat`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.group.kinds.consumer import leaving, pace, progress, sessions
from kcompat.group.kinds.consumer.finding import find_group, find_or_make
from kcompat.group.kinds.consumer.membership import fenced_instance, find_or_join, unknown_member
from kcompat.group.modern.answer import HeartbeatAnswer
from kcompat.group.modern.epochs import JOIN, LEAVE_FOR_A_WHILE
from kcompat.group.modern.own_settings import settings_of
from kcompat.group.modern.refusal import Refusal
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.group.base import GroupTurn
    from kcompat.group.kinds.consumer.member import ConsumerMember
    from kcompat.group.kinds.consumer.requests import HeartbeatRequest


def heartbeat(turn: GroupTurn, request: HeartbeatRequest) -> HeartbeatAnswer:
    """Do what the member asks, and tell it what it has to do next."""
    outcome = _leave(turn, request) if request.member_epoch < JOIN else _go_on(turn, request)
    if isinstance(outcome, Refusal):
        turn.take_back()
        return HeartbeatAnswer(outcome.error, outcome.message)
    return outcome


# --- leaving


def _leave(turn: GroupTurn, request: HeartbeatRequest) -> HeartbeatAnswer | Refusal:
    group = find_group(turn, request.group_id)
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
        leaving.leave_for_a_while(turn, request.group_id, member)
    else:
        leaving.fence(turn, group, [member])
    return HeartbeatAnswer(member_id=request.member_id, member_epoch=request.member_epoch)


# --- joining and going on


def _go_on(turn: GroupTurn, request: HeartbeatRequest) -> HeartbeatAnswer | Refusal:
    settings = settings_of(turn.shard, turn.shard.config.consumer, request.group_id)
    group = find_or_make(turn, request.group_id, creates=request.member_epoch == JOIN)
    if isinstance(group, Refusal):
        return group
    if len(group.members) >= settings.max_size and group.members.get(request.member_id) is None:
        return Refusal(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {settings.max_size} members.",
        )
    before = find_or_join(turn, group, request, request.member_id or turn.shard.new_uuid())
    if isinstance(before, Refusal):
        return before
    after = _as_it_wants(before, request)
    noted = progress.take_note(turn, group, before, after, request.may_describe)
    if isinstance(noted, Refusal):
        return noted
    told = progress.go_on(turn, group, before, after, noted, request.owned, settings)
    if isinstance(told, Refusal):
        return told
    sessions.keep_alive(turn, group.group_id, told.member_id, settings.session_timeout_ms)
    interval_ms = pace.interval_ms(
        settings.heartbeat_interval_ms, group.header, noted.group_epoch, len(group.members), turn.now_ms
    )
    return _answer(request, before, told, interval_ms)


def _as_it_wants(member: ConsumerMember, request: HeartbeatRequest) -> ConsumerMember:
    """The member with what the request says of it. Whoever heartbeats uses the consumer protocol."""
    wishes: dict[str, object] = {
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
        wishes["rebalance_timeout_ms"] = request.rebalance_timeout_ms
    return replace(
        member, **wishes, client_id=request.client_id, client_host=request.client_host, classic=None
    )


def _answer(
    request: HeartbeatRequest,
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
