"""The records of consumer groups, applied to the groups of a shard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.kinds.consumer import records
from kcompat.group.kinds.consumer.member import ConsumerMember
from kcompat.group.kinds.consumer.patterns import ResolvedPattern
from kcompat.protocol.messages import consumer_group_records as messages

if TYPE_CHECKING:
    from kcompat.coordinator.operation import CoordinatorRecord
    from kcompat.group.kinds.consumer.group import ConsumerGroup

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
            group.replay_member(member_id, value, offset, ConsumerMember, records.with_metadata)
        case messages.ConsumerGroupTargetAssignmentMetadataKey():
            assert value is None or isinstance(value, messages.ConsumerGroupTargetAssignmentMetadataValue)
            group.replay_target_metadata(value, offset)
        case messages.ConsumerGroupTargetAssignmentMemberKey(member_id=member_id):
            assert value is None or isinstance(value, messages.ConsumerGroupTargetAssignmentMemberValue)
            group.set_target(member_id, None if value is None else records.target_of(value), offset)
        case messages.ConsumerGroupCurrentMemberAssignmentKey(member_id=member_id):
            assert value is None or isinstance(value, messages.ConsumerGroupCurrentMemberAssignmentValue)
            group.replay_current(member_id, value, offset, ConsumerMember, records.with_current)
        case messages.ConsumerGroupRegularExpressionKey(regular_expression=text):
            assert value is None or isinstance(value, messages.ConsumerGroupRegularExpressionValue)
            resolved = None if value is None else ResolvedPattern(frozenset(value.topics), value.timestamp)
            if resolved is not None or group.patterns.get(text) is not None:
                group.patterns.set(text, resolved, offset)
