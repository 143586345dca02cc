"""The records of consumer groups, applied to the groups of a shard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.group.consumer import records
from kcompat.group.consumer.member import NO_EPOCHS, ConsumerMember
from kcompat.group.consumer.patterns import ResolvedPattern
from kcompat.group.modern.epochs import LEAVE
from kcompat.protocol.messages import consumer_group_records as messages

if TYPE_CHECKING:
    from kcompat.coordinator.operation import CoordinatorRecord
    from kcompat.group.consumer.group import ConsumerGroup

KEYS = (
    messages.ConsumerGroupMetadataKey,
    messages.ConsumerGroupPartitionMetadataKey,
    messages.ConsumerGroupMemberMetadataKey,
    messages.ConsumerGroupTargetAssignmentMetadataKey,
    messages.ConsumerGroupTargetAssignmentMemberKey,
    messages.ConsumerGroupCurrentMemberAssignmentKey,
    messages.ConsumerGroupRegularExpressionKey,
)


def replay(group: ConsumerGroup, record: CoordinatorRecord, offset: int) -> None:
    """Apply one record, whose key is one of `KEYS`, to its group.

    Compaction keeps the last record of each key where it stands, so a tombstone may come for what was never
    there, and what it buries may come apart.
    """
    key, value = record
    match key:
        case messages.ConsumerGroupMetadataKey():
            assert value is None or isinstance(value, messages.ConsumerGroupMetadataValue)
            group.replay_metadata(value, offset)
        case messages.ConsumerGroupPartitionMetadataKey():
            group.has_old_metadata = value is not None
        case messages.ConsumerGroupMemberMetadataKey(member_id=member_id):
            assert value is None or isinstance(value, messages.ConsumerGroupMemberMetadataValue)
            if value is None:
                group.remove_member(member_id, offset)
            else:
                group.set_member(records.with_metadata(_member(group, member_id), value), offset)
        case messages.ConsumerGroupTargetAssignmentMetadataKey():
            assert value is None or isinstance(value, messages.ConsumerGroupTargetAssignmentMetadataValue)
            group.replay_target_metadata(value, offset)
        case messages.ConsumerGroupTargetAssignmentMemberKey(member_id=member_id):
            assert value is None or isinstance(value, messages.ConsumerGroupTargetAssignmentMemberValue)
            group.set_target(member_id, None if value is None else records.target_of(value), offset)
        case messages.ConsumerGroupCurrentMemberAssignmentKey(member_id=member_id):
            assert value is None or isinstance(value, messages.ConsumerGroupCurrentMemberAssignmentValue)
            _replay_current(group, member_id, value, offset)
        case messages.ConsumerGroupRegularExpressionKey(regular_expression=text):
            assert value is None or isinstance(value, messages.ConsumerGroupRegularExpressionValue)
            resolved = None if value is None else ResolvedPattern(frozenset(value.topics), value.timestamp)
            if resolved is not None or group.patterns.get(text) is not None:
                group.patterns.set(text, resolved, offset)


def _replay_current(
    group: ConsumerGroup,
    member_id: str,
    value: messages.ConsumerGroupCurrentMemberAssignmentValue | None,
    offset: int,
) -> None:
    if value is not None:
        group.set_member(records.with_current(_member(group, member_id), value), offset)
    elif group.members.get(member_id) is not None:
        gone = replace(
            _member(group, member_id),
            member_epoch=LEAVE,
            previous_member_epoch=LEAVE,
            assigned=NO_EPOCHS,
            revoking=NO_EPOCHS,
        )
        group.set_member(gone, offset)


def _member(group: ConsumerGroup, member_id: str) -> ConsumerMember:
    return group.members.get(member_id) or ConsumerMember(member_id)
