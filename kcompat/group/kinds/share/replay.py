"""The records of share groups, applied to the groups of a shard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.kinds.share import records
from kcompat.group.kinds.share.member import ShareMember
from kcompat.protocol.messages import share_group_records as messages

if TYPE_CHECKING:
    from kcompat.coordinator.operation import CoordinatorRecord
    from kcompat.group.kinds.share.group import ShareGroup

KEYS = (
    messages.ShareGroupMemberMetadataKey,
    messages.ShareGroupMetadataKey,
    messages.ShareGroupTargetAssignmentMetadataKey,
    messages.ShareGroupTargetAssignmentMemberKey,
    messages.ShareGroupCurrentMemberAssignmentKey,
    messages.ShareGroupStatePartitionMetadataKey,
)


def replay(group: ShareGroup, record: CoordinatorRecord, offset: int) -> None:
    """Apply one record, whose key is one of `KEYS`, to its group.

    Compaction keeps the last record of each key where it stands, so a tombstone may come for what was never
    there, and what it buries may come apart.
    """
    key, value = record
    match key:
        case messages.ShareGroupMetadataKey():
            assert value is None or isinstance(value, messages.ShareGroupMetadataValue)
            group.replay_metadata(value, offset)
        case messages.ShareGroupMemberMetadataKey(member_id=member_id):
            assert value is None or isinstance(value, messages.ShareGroupMemberMetadataValue)
            group.replay_member(member_id, value, offset, ShareMember, records.with_metadata)
        case messages.ShareGroupTargetAssignmentMetadataKey():
            assert value is None or isinstance(value, messages.ShareGroupTargetAssignmentMetadataValue)
            group.replay_target_metadata(value, offset)
        case messages.ShareGroupTargetAssignmentMemberKey(member_id=member_id):
            assert value is None or isinstance(value, messages.ShareGroupTargetAssignmentMemberValue)
            group.set_target(member_id, None if value is None else records.target_of(value), offset)
        case messages.ShareGroupCurrentMemberAssignmentKey(member_id=member_id):
            assert value is None or isinstance(value, messages.ShareGroupCurrentMemberAssignmentValue)
            group.replay_current(member_id, value, offset, ShareMember, records.with_current)
        case messages.ShareGroupStatePartitionMetadataKey():
            assert value is None or isinstance(value, messages.ShareGroupStatePartitionMetadataValue)
            group.set_initialization(None if value is None else records.initialization_of(value), offset)
