"""Records of share groups in `__consumer_offsets`, in the formats of Kafka 4.3: writing and replay."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from kcompat.group.assignors.spec import partitions
from kcompat.group.kinds.share.initialization import Initialization, TopicPartitions
from kcompat.group.kinds.share.members import STABLE, ShareMember
from kcompat.group.modern.records import SubscribedRecords
from kcompat.group.modern.topics import java_order
from kcompat.protocol.messages.share_group_records import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcompat.group.base import GroupTransition
    from kcompat.group.kinds.share.members import ShareMembers

UNKNOWN_TOPIC = "<UNKNOWN>"
"""Name that Kafka writes for a topic that no longer exists."""

_CurrentTopic = ShareGroupCurrentMemberAssignmentValue.TopicPartitions
_Partitions = ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo
_Topic = ShareGroupStatePartitionMetadataValue.TopicInfo


def _replay_initialization(
    group: ShareMembers,
    _key: ShareGroupStatePartitionMetadataKey,
    value: ShareGroupStatePartitionMetadataValue | None,
    offset: int,
) -> None:
    group.set_initialization(None if value is None else _initialization(value), offset)


class ShareRecords(SubscribedRecords[ShareMember]):
    """The records of share groups."""

    group = ShareGroupMetadataKey, ShareGroupMetadataValue
    member = ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue
    target_epoch = ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue
    target = ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue
    current = ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue
    state = ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue
    others = MappingProxyType({state: _replay_initialization})
    target_row = ShareGroupTargetAssignmentMemberValue.TopicPartition
    new_member = ShareMember

    def member_value(self, member: ShareMember) -> ShareGroupMemberMetadataValue:
        return ShareGroupMemberMetadataValue(
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=sorted(member.subscribed_topics, key=java_order),
        )

    def with_member(self, member: ShareMember, value: ShareGroupMemberMetadataValue) -> ShareMember:
        return replace(
            member,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            subscribed_topics=frozenset(value.subscribed_topic_names),
        )

    def current_value(self, member: ShareMember) -> ShareGroupCurrentMemberAssignmentValue:
        return ShareGroupCurrentMemberAssignmentValue(
            member_epoch=member.member_epoch,
            previous_member_epoch=member.previous_member_epoch,
            state=STABLE,
            assigned_partitions=[
                _CurrentTopic(topic_id, sorted(indexes)) for topic_id, indexes in member.assigned.items()
            ],
        )

    def with_current(self, member: ShareMember, value: ShareGroupCurrentMemberAssignmentValue) -> ShareMember:
        return replace(
            member,
            member_epoch=value.member_epoch,
            previous_member_epoch=value.previous_member_epoch,
            assigned=partitions((row.topic_id, row.partitions) for row in value.assigned_partitions),
        )

    def write_initialization(self, transition: GroupTransition, group_id: str, state: Initialization) -> None:
        """Write the initialized share partitions."""
        names = transition.shard.image().topic_names
        transition.write(
            ShareGroupStatePartitionMetadataKey(group_id),
            ShareGroupStatePartitionMetadataValue(
                initializing_topics=_rows(state.initializing),
                initialized_topics=_rows(state.initialized),
                deleting_topics=[
                    _Topic(topic_id, names.get(topic_id, UNKNOWN_TOPIC))
                    for topic_id in sorted(state.deleting)
                ],
            ),
        )

    def write_all_tombstones(self, transition: GroupTransition, group_id: str) -> None:
        """Write the tombstones of a group without members."""
        self.write_group_tombstones(transition, group_id, (), [ShareGroupStatePartitionMetadataKey(group_id)])


def _rows(topics: Mapping[bytes, TopicPartitions]) -> list[_Partitions]:
    return [_Partitions(topic_id, row.name, sorted(row.partitions)) for topic_id, row in topics.items()]


def _initialization(value: ShareGroupStatePartitionMetadataValue) -> Initialization:
    return Initialization(
        _topics(value.initializing_topics),
        _topics(value.initialized_topics),
        frozenset(row.topic_id for row in value.deleting_topics),
    )


def _topics(rows: Iterable[_Partitions]) -> dict[bytes, TopicPartitions]:
    return {row.topic_id: TopicPartitions(row.topic_name, frozenset(row.partitions)) for row in rows}


RECORDS: Final = ShareRecords()
