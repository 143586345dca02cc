"""Conversion of a consumer group that has only classic members left to a classic group.

Kafka's counterparts: `validateOnlineDowngradeWithFencedMembers`, `validateOnlineDowngradeWithReplacedMember`,
`convertToClassicGroup`, `ClassicGroup.fromConsumerGroup`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.assignors.spec import NO_PARTITIONS
from kcompat.group.events import Change, Why
from kcompat.group.kinds.classic import rebalance
from kcompat.group.kinds.classic.group import ClassicGroup, restore
from kcompat.group.kinds.classic.members import CONSUMER_PROTOCOL, ClassicMember, ClassicMembers
from kcompat.group.kinds.consumer import sessions
from kcompat.group.kinds.consumer.group import ConsumerGroup
from kcompat.group.kinds.consumer.records import RECORDS
from kcompat.group.mixed.embedded import write_assignment
from kcompat.protocol.messages.group_records import GroupMetadataKey

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kcompat.group.base import GroupTransition
    from kcompat.group.kinds.consumer.member import ConsumerMember
    from kcompat.group.kinds.consumer.members import ConsumerMembers

    Targets = Mapping[str, Mapping[bytes, frozenset[int]]]


def may_downgrade_for(transition: GroupTransition, group: ConsumerMembers, replaced: ConsumerMember) -> bool:
    """Return whether the group is converted to a classic one when a classic member replaces the member
    `replaced`.
    """
    others = len(group.members) - 1
    return (
        replaced.classic is None and group.classic_members == others and _is_allowed(transition, others + 1)
    )


def _is_allowed(transition: GroupTransition, members: int) -> bool:
    config = transition.shard.config
    return config.consumer.migration.may_downgrade and members <= config.max_size


def downgrade(transition: GroupTransition, group_id: str, leaving: Collection[str]) -> bool:
    """Convert the group to a classic one without the members `leaving`, if only classic ones are left
    (`Conversions`).

    The remaining members rebalance, so that the partitions of the removed ones are assigned.
    """
    group = transition.shard.groups[group_id]
    assert isinstance(group, ConsumerGroup)
    members = group.members.latest
    left = len(members) - len(leaving)
    classic_left = group.classic_members - sum(members[each].classic is not None for each in leaving)
    if not left or classic_left != left or not _is_allowed(transition, left):
        return False
    stay = [member for member in members.values() if member.member_id not in leaving]
    _convert(transition, group, stay, group.targets.latest, rebalances=True)
    return True


def downgrade_for(
    transition: GroupTransition,
    group: ConsumerMembers,
    replaced: ConsumerMember,
    joining: ConsumerMember,
    *,
    rebalances: bool,
) -> None:
    """Convert the group to a classic one in which a classic member replaces another and keeps its
    partitions.
    """
    transition.take_back()
    others = [member for member in group.members.latest.values() if member.member_id != replaced.member_id]
    targets = {**group.targets.latest, joining.member_id: group.target(replaced.member_id)}
    _convert(transition, group, [*others, joining], targets, rebalances=rebalances)


def _convert(
    transition: GroupTransition,
    group: ConsumerMembers,
    members: Collection[ConsumerMember],
    targets: Targets,
    *,
    rebalances: bool,
) -> None:
    """Write the tombstones of the consumer group, and the record of a classic group with the targets as
    assignments.
    """
    former = list(group.members.latest)
    RECORDS.write_all_tombstones(transition, group.group_id, former, group.patterns.latest)
    classic = ClassicMembers(group.group_id, transition.now_ms)
    for member in members:
        classic.add(_classic(member))
    classic.generation = group.group_epoch
    classic.protocol_name = classic.select_protocol()
    if rebalances:
        classic.leader = None  # should this coordinator be lost, the next one has the group rebalance
    image = transition.shard.image()
    assignments = {
        member.member_id: write_assignment(
            targets.get(member.member_id, NO_PARTITIONS), member.metadata(classic.protocol_name), image
        )
        for member in classic.members.values()
    }
    transition.write(GroupMetadataKey(group=group.group_id), classic.to_value(assignments))
    transition.once_appended(
        lambda transition: _come_to_life(transition, classic, former, rebalances=rebalances)
    )


def _classic(member: ConsumerMember) -> ClassicMember:
    assert member.classic is not None
    return ClassicMember(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.rebalance_timeout_ms,
        member.classic.session_timeout_ms,
        CONSUMER_PROTOCOL,
        member.classic.protocols,
    )


def _come_to_life(
    transition: GroupTransition, classic: ClassicMembers, former: Collection[str], *, rebalances: bool
) -> None:
    """Restore the members with all their protocols, and their sessions, after the classic group's record is
    replayed.
    """
    group: object = transition.shard.groups.get(classic.group_id)
    assert isinstance(group, ClassicGroup)
    assert group.stored is not None
    for member_id in former:
        sessions.cancel(transition, group.group_id, member_id)
    restore(group, group.stored)
    for member_id, known in classic.members.items():
        member = group.members[member_id]
        group.update(member, known.protocols, known.rebalance_timeout_ms, known.session_timeout_ms)
        rebalance.keep_alive(transition, group, member)
    if rebalances:
        rebalance.prepare(transition, group, Why(Change.UPDATE, "downgrade of a consumer group"))
