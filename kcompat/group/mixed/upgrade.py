"""A classic group becomes a consumer group: its members stay, with what they have.

They go on with the classic protocol until each is restarted with the other. Kafka's counterparts:
`validateOnlineUpgrade`, `convertToConsumerGroup`, `ConsumerGroup.fromClassicGroup`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kcompat.coordinator.timeline import Timeline
from kcompat.coordinator.turn import Turn
from kcompat.group.kinds.classic import rebalance
from kcompat.group.kinds.classic.group import ClassicGroup
from kcompat.group.kinds.classic.roster import ClassicState
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
    from kcompat.group.base import Group, GroupTurn
    from kcompat.group.kinds.classic.roster import ClassicMember


def upgrade(turn: GroupTurn, group: Group) -> ConsumerGroup | Refusal:
    """The consumer group that takes the place of a classic one, as it will be once what is written here has
    been replayed: whoever made this necessary goes on with it.
    """
    assert isinstance(group, ClassicGroup)
    refused = _refusal(turn, group)
    if refused is not None:
        return refused
    members = []
    for classic in group.members.values():
        member = _converted(turn, group, classic)
        if isinstance(member, Refusal):
            return member
        members.append(member)
    conversion: GroupTurn = Turn(turn.shard, turn.now_ms)
    _write(conversion, group, members)
    made = ConsumerGroup(group.group_id, Timeline())
    for record in conversion.finish(None).records:
        turn.write(record.key, record.value)
        if not isinstance(record.key, GroupMetadataKey):
            RECORDS.replay(made, record, 0)
    made.needs_target = not group.is_in(ClassicState.STABLE)
    turn.once_appended(partial(_take_over, former=group))
    return made


def _refusal(turn: GroupTurn, group: ClassicGroup) -> Refusal | None:
    config = turn.shard.config
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


def _converted(turn: GroupTurn, group: ClassicGroup, member: ClassicMember) -> ConsumerMember | Refusal:
    """A member with what it was assigned last. One that waits in a join or a sync is told to join again."""
    image, generation = turn.shard.image(), group.generation
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


def _write(turn: GroupTurn, group: ClassicGroup, members: list[ConsumerMember]) -> None:
    group_id, shard = group.group_id, turn.shard
    turn.write(GroupMetadataKey(group=group_id), None)
    for member in members:
        RECORDS.write_member(turn, group_id, member)
    names = frozenset(name for member in members for name in member.subscribed_topics)
    RECORDS.write_epoch(turn, group_id, group.generation, shard.hashes.of(names, shard.image()))
    for member in members:
        target = {topic: frozenset(epochs) for topic, epochs in member.assigned.items()}
        RECORDS.write_target(turn, group_id, member.member_id, target)
    RECORDS.write_target_epoch(turn, group_id, group.generation, NO_TIMESTAMP)
    for member in members:
        RECORDS.write_current(turn, group_id, member)


def _take_over(turn: GroupTurn, former: ClassicGroup) -> None:
    """Tell those who wait in the classic group to join again, and begin the sessions of its members anew."""
    rebalance.dissolve(turn, former)
    group: object = turn.shard.groups.get(former.group_id)
    assert isinstance(group, ConsumerGroup)
    for member in group.members.latest.values():
        sessions.watch(turn, group.group_id, member)
