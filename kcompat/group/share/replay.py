"""The records of share groups, applied to the groups of a shard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.group.modern.assignment import NO_PARTITIONS
from kcompat.group.modern.epochs import LEAVE
from kcompat.group.share import records
from kcompat.group.share.member import ShareMember
from kcompat.protocol.messages import share_group_records as messages

if TYPE_CHECKING:
    from kcompat.coordinator.operation import CoordinatorRecord
    from kcompat.group.share.group import ShareGroup

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
            if value is None:
                group.remove_member(member_id, offset)
            else:
                group.set_member(records.with_metadata(_member(group, member_id), value), offset)
        case messages.ShareGroupTargetAssignmentMetadataKey():
            assert value is None or isinstance(value, messages.ShareGroupTargetAssignmentMetadataValue)
            group.replay_target_metadata(value, offset)
        case messages.ShareGroupTargetAssignmentMemberKey(member_id=member_id):
            assert value is None or isinstance(value, messages.ShareGroupTargetAssignmentMemberValue)
            group.set_target(member_id, None if value is None else records.target_of(value), offset)
        case messages.ShareGroupCurrentMemberAssignmentKey(member_id=member_id):
            assert value is None or isinstance(value, messages.ShareGroupCurrentMemberAssignmentValue)
            _replay_current(group, member_id, value, offset)
        case messages.ShareGroupStatePartitionMetadataKey():
            assert value is None or isinstance(value, messages.ShareGroupStatePartitionMetadataValue)
            group.set_initialization(None if value is None else records.initialization_of(value), offset)


def _replay_current(
    group: ShareGroup,
    member_id: str,
    value: messages.ShareGroupCurrentMemberAssignmentValue | None,
    offset: int,
) -> None:
    if value is not None:
        group.set_member(records.with_current(_member(group, member_id), value), offset)
    elif group.members.get(member_id) is not None:
        gone = replace(
            _member(group, member_id),
            member_epoch=LEAVE,
            previous_member_epoch=LEAVE,
            assigned=NO_PARTITIONS,
        )
        group.set_member(gone, offset)


def _member(group: ShareGroup, member_id: str) -> ShareMember:
    return group.members.get(member_id) or ShareMember(member_id)
