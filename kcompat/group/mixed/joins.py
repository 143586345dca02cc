"""JoinGroup of a classic member in a consumer group, whose partitions the broker assigns for all members.

The response does not name the member as leader. The join waits for no other member: the generation in the
response is the member epoch. Kafka's counterpart: `classicGroupJoinToConsumerGroup`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.group.kinds.consumer import progress, sessions
from kcompat.group.kinds.consumer.member import ClassicMembership, ConsumerMember
from kcompat.group.kinds.consumer.members import CONSUMER
from kcompat.group.kinds.consumer.membership import fenced_instance, take_place
from kcompat.group.mixed.downgrade import downgrade_for, may_downgrade_for
from kcompat.group.mixed.embedded import read_subscription
from kcompat.group.modern.heartbeat import Refusal
from kcompat.group.modern.own_settings import settings_of
from kcompat.group.requests import UNKNOWN_MEMBER, JoinAnswer
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.group.base import GroupTransition
    from kcompat.group.kinds.consumer.members import ConsumerMembers
    from kcompat.group.mixed.embedded import Subscribed
    from kcompat.group.requests import JoinRequest


def join(transition: GroupTransition, group: ConsumerMembers, request: JoinRequest) -> JoinAnswer:
    """Add a classic member, or advance it towards its target."""
    is_unknown = request.member_id == UNKNOWN_MEMBER
    member_id = transition.shard.new_uuid() if is_unknown else request.member_id
    max_size = transition.shard.config.consumer.max_size
    if len(group.members) >= max_size and group.members.get(member_id) is None:
        return JoinAnswer(ErrorCode.GROUP_MAX_SIZE_REACHED)
    if not group.supports_classic(request.protocol_type, (name for name, _ in request.protocols)):
        return JoinAnswer(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if is_unknown and request.needs_member_id:
        return JoinAnswer(ErrorCode.MEMBER_ID_REQUIRED, member_id)
    subscription = read_subscription(bytes(request.protocols[0][1]), transition.shard.image())
    if subscription is None:
        return JoinAnswer(ErrorCode.UNKNOWN_SERVER_ERROR)
    outcome = _join(transition, group, request, member_id, subscription)
    if isinstance(outcome, Refusal):
        transition.take_back()
        return JoinAnswer(outcome.error)
    return JoinAnswer(
        member_id=outcome.member_id,
        generation=outcome.member_epoch,
        protocol_type=CONSUMER,
        protocol_name=request.protocols[0][0],
    )


def _join(
    transition: GroupTransition,
    group: ConsumerMembers,
    request: JoinRequest,
    member_id: str,
    subscription: Subscribed,
) -> ConsumerMember | Refusal:
    replaced = group.static_member(request.instance_id)
    before = _find_or_join(transition, group, request, member_id)
    if isinstance(before, Refusal):
        return before
    after = _as_it_wants(before, request, subscription)
    noted = progress.take_note(transition, group, before, after, request.may_describe)
    if isinstance(noted, Refusal):
        return noted
    if replaced is not None and may_downgrade_for(transition, group, replaced):
        return _downgrade(transition, group, replaced, after, noted, subscription.owned)
    settings = settings_of(transition.shard.image(), transition.shard.config.consumer, group.group_id)
    updated = progress.go_on(transition, group, before, after, noted, subscription.owned, settings)
    if not isinstance(updated, Refusal):
        transition.once_appended(lambda transition: _wait_for(transition, group.group_id, updated))
    return updated


def _find_or_join(
    transition: GroupTransition, group: ConsumerMembers, request: JoinRequest, member_id: str
) -> ConsumerMember | Refusal:
    if request.instance_id is None:
        return group.members.get(member_id) or ConsumerMember(member_id)
    if request.member_id == UNKNOWN_MEMBER:
        former = group.static_member(request.instance_id)
        return (
            ConsumerMember(member_id) if former is None else take_place(transition, group, former, member_id)
        )
    member, refusal = fenced_instance(group, request.instance_id, member_id)
    if member is None:
        assert refusal is not None
        return refusal
    return member


def _as_it_wants(member: ConsumerMember, request: JoinRequest, subscription: Subscribed) -> ConsumerMember:
    """Return the member with the fields of the request. Classic members subscribe to no patterns."""
    return replace(
        member,
        instance_id=request.instance_id or member.instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        subscribed_topics=subscription.topics,
        subscribed_regex="",
        client_id=request.client_id,
        client_host=request.client_host,
        classic=ClassicMembership(request.session_timeout_ms, request.protocols),
    )


def _downgrade(
    transition: GroupTransition,
    group: ConsumerMembers,
    replaced: ConsumerMember,
    member: ConsumerMember,
    noted: progress.Noted,
    owned: Mapping[bytes, frozenset[int]],
) -> ConsumerMember | Refusal:
    """Convert the group to a classic one, because its last member with the consumer protocol returns with the
    classic one.
    """
    is_stale = group.assignment_epoch < noted.group_epoch
    updated: ConsumerMember | Refusal = member
    if not is_stale:
        target = group.target(replaced.member_id)
        changed = noted.subscription_changed
        updated = progress.step(
            transition, group, member, group.assignment_epoch, target, owned, changed=changed
        )
    if not isinstance(updated, Refusal):
        downgrade_for(transition, group, replaced, updated, rebalances=is_stale)
    return updated


def _wait_for(transition: GroupTransition, group_id: str, member: ConsumerMember) -> None:
    sessions.watch(transition, group_id, member)
    sessions.joined(transition, group_id, member)
