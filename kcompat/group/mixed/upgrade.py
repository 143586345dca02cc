"""Conversion of a classic group to a consumer group, in which the members keep their partitions.

The members use the classic protocol until each is restarted with the consumer protocol. Kafka's counterparts:
`validateOnlineUpgrade`, `convertToConsumerGroup`, `ConsumerGroup.fromClassicGroup`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kcompat.coordinator.timeline import Timeline
from kcompat.coordinator.transition import Transition
from kcompat.group.kinds.classic import rebalance
from kcompat.group.kinds.classic.group import ClassicGroup
from kcompat.group.kinds.classic.members import ClassicState
from kcompat.group.kinds.consumer import sessions
from kcompat.group.kinds.consumer.group import ConsumerGroup
from kcompat.group.kinds.consumer.member import ClassicMembership, ConsumerMember
from kcompat.group.kinds.consumer.records import RECORDS
from kcompat.group.mixed.embedded import read_assignment, read_subscription
from kcompat.group.modern.group import NO_TIMESTAMP
from kcompat.group.modern.heartbeat import Refusal
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.group_records import GroupMetadataKey

if TYPE_CHECKING:
    from kcompat.group.base import Group, GroupTransition
    from kcompat.group.kinds.classic.members import ClassicMember


def upgrade(transition: GroupTransition, group: Group) -> ConsumerGroup | Refusal:
    """Return the consumer group that replaces a classic one, in the state after the written records are
    replayed.

    The request that caused the upgrade continues with this group.
    """
    assert isinstance(group, ClassicGroup)
    refused = _refusal(transition, group)
    if refused is not None:
        return refused
    members = []
    for classic in group.members.values():
        member = _converted(transition, group, classic)
        if isinstance(member, Refusal):
            return member
        members.append(member)
    conversion: GroupTransition = Transition(transition.shard, transition.now_ms)
    _write(conversion, group, members)
    made = ConsumerGroup(group.group_id, Timeline())
    for record in conversion.finish(None).records:
        transition.write(record.key, record.value)
        if not isinstance(record.key, GroupMetadataKey):
            RECORDS.replay(made, record, 0)
    made.needs_target = not group.is_in(ClassicState.STABLE) or not _has_owners(transition, members)
    transition.once_appended(partial(_take_over, former=group))
    return made


def _refusal(transition: GroupTransition, group: ClassicGroup) -> Refusal | None:
    config = transition.shard.config
    if not config.consumer.migration.may_upgrade:
        why = "online upgrade is disabled"
    elif not group.is_consumer_group:
        why = "the group does not use the consumer embedded protocol"
    elif len(group.members) > config.consumer.max_size:
        why = "the group size exceeds the consumer group maximum size"
    else:
        return None
    return _refused(group, why)


def _refused(group: ClassicGroup, why: str) -> Refusal:
    message = f"Cannot upgrade classic group {group.group_id} to consumer group because {why}."
    return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, message)


def _converted(
    transition: GroupTransition, group: ClassicGroup, member: ClassicMember
) -> ConsumerMember | Refusal:
    """Return a member with its last assignment. A member that waits in a join or a sync is told to join
    again.
    """
    image, generation = transition.shard.image(), group.generation
    said = member.metadata(group.protocol_name or "") or next((data for _, data in member.protocols), b"")
    subscription = read_subscription(bytes(said), image)
    assigned = read_assignment(bytes(member.assignment), image)
    if subscription is None or assigned is None:
        return _refused(group, "the embedded consumer protocol is malformed")
    if assigned.for_assignor:
        return _refused(
            group,
            "an unsupported custom assignor is in use. Please refer to the documentation or switch to a "
            "default assignor before re-attempting the upgrade",
        )
    return ConsumerMember(
        member.member_id,
        generation,
        generation,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topics=subscription.topics,
        assigned={
            topic: dict.fromkeys(sorted(indexes), generation)
            for topic, indexes in assigned.partitions.items()
        },
        classic=ClassicMembership(member.session_timeout_ms, member.protocols),
    )


def _has_owners(transition: GroupTransition, members: list[ConsumerMember]) -> bool:
    """Return whether the members own all partitions of their topics. A classic group learns only from its
    leader that a topic has more partitions.
    """
    topics = transition.shard.image().topics
    names = {name for member in members for name in member.subscribed_topics} & topics.keys()
    owned = {
        (topic_id, index)
        for member in members
        for topic_id, indexes in member.assigned.items()
        for index in indexes
    }
    return all((topics[name].topic_id, index) in owned for name in names for index in topics[name].partitions)


def _write(transition: GroupTransition, group: ClassicGroup, members: list[ConsumerMember]) -> None:
    group_id, shard = group.group_id, transition.shard
    transition.write(GroupMetadataKey(group=group_id), None)
    for member in members:
        RECORDS.write_member(transition, group_id, member)
    names = frozenset(name for member in members for name in member.subscribed_topics)
    RECORDS.write_epoch(transition, group_id, group.generation, shard.hashes.of(names, shard.image()))
    for member in members:
        target = {topic: frozenset(epochs) for topic, epochs in member.assigned.items()}
        RECORDS.write_target(transition, group_id, member.member_id, target)
    RECORDS.write_target_epoch(transition, group_id, group.generation, NO_TIMESTAMP)
    for member in members:
        RECORDS.write_current(transition, group_id, member)


def _take_over(transition: GroupTransition, former: ClassicGroup) -> None:
    """Tell members that wait in the classic group to join again, and restart the sessions of all members."""
    rebalance.dissolve(transition, former)
    group: object = transition.shard.groups.get(former.group_id)
    assert isinstance(group, ConsumerGroup)
    for member in group.members.latest.values():
        sessions.watch(transition, group.group_id, member)
