"""The records of streams groups, applied to the groups of a shard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.kinds.streams import records
from kcompat.group.kinds.streams.member import StreamsMember
from kcompat.protocol.messages import streams_group_records as messages

if TYPE_CHECKING:
    from kcompat.coordinator.operation import CoordinatorRecord
    from kcompat.group.kinds.streams.group import StreamsGroup

KEYS = (
    messages.StreamsGroupMetadataKey,
    messages.StreamsGroupMemberMetadataKey,
    messages.StreamsGroupTargetAssignmentMetadataKey,
    messages.StreamsGroupTargetAssignmentMemberKey,
    messages.StreamsGroupCurrentMemberAssignmentKey,
    messages.StreamsGroupTopologyKey,
)


def replay(group: StreamsGroup, record: CoordinatorRecord, offset: int) -> None:
    """Apply one record, whose key is one of `KEYS`, to its group.

    Compaction keeps the last record of each key where it stands, so a tombstone may come for what was never
    there, and what it buries may come apart.
    """
    key, value = record
    match key:
        case messages.StreamsGroupMetadataKey():
            assert value is None or isinstance(value, messages.StreamsGroupMetadataValue)
            group.replay_metadata(value, offset)
            group.set_basis(None if value is None else records.basis_of(value), offset)
        case messages.StreamsGroupMemberMetadataKey(member_id=member_id):
            assert value is None or isinstance(value, messages.StreamsGroupMemberMetadataValue)
            group.replay_member(member_id, value, offset, StreamsMember, records.with_metadata)
        case messages.StreamsGroupTargetAssignmentMetadataKey():
            assert value is None or isinstance(value, messages.StreamsGroupTargetAssignmentMetadataValue)
            group.replay_target_metadata(value, offset)
        case messages.StreamsGroupTargetAssignmentMemberKey(member_id=member_id):
            assert value is None or isinstance(value, messages.StreamsGroupTargetAssignmentMemberValue)
            group.set_target(member_id, None if value is None else records.target_of(value), offset)
        case messages.StreamsGroupCurrentMemberAssignmentKey(member_id=member_id):
            assert value is None or isinstance(value, messages.StreamsGroupCurrentMemberAssignmentValue)
            group.replay_current(member_id, value, offset, StreamsMember, records.with_current)
        case messages.StreamsGroupTopologyKey():
            assert value is None or isinstance(value, messages.StreamsGroupTopologyValue)
            group.set_topology(None if value is None else records.topology_of(value), offset)
