"""What is written of share groups in `__consumer_offsets`, and read back, as Kafka 4.3 does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.group.kinds.share.initialization import Initialization, TopicPartitions
from kcompat.group.kinds.share.member import STABLE
from kcompat.group.modern.assignment import partitions
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

    from kcompat.group.base import GroupTurn
    from kcompat.group.kinds.share.member import ShareMember

UNKNOWN_TOPIC = "<UNKNOWN>"
"""What Kafka calls a topic that does not exist any more."""

_CurrentTopic = ShareGroupCurrentMemberAssignmentValue.TopicPartitions
_TargetTopic = ShareGroupTargetAssignmentMemberValue.TopicPartition
_Partitions = ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo
_Topic = ShareGroupStatePartitionMetadataValue.TopicInfo


def write_member(turn: GroupTurn, group_id: str, member: ShareMember) -> None:
    """What a member wants."""
    turn.write(
        ShareGroupMemberMetadataKey(group_id, member.member_id),
        ShareGroupMemberMetadataValue(
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=sorted(member.subscribed_topics, key=java_order),
        ),
    )


def with_metadata(member: ShareMember, value: ShareGroupMemberMetadataValue) -> ShareMember:
    """The member with what the record says it wants."""
    return replace(
        member,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        subscribed_topics=frozenset(value.subscribed_topic_names),
    )


def write_current(turn: GroupTurn, group_id: str, member: ShareMember) -> None:
    """What a member has."""
    turn.write(
        ShareGroupCurrentMemberAssignmentKey(group_id, member.member_id),
        ShareGroupCurrentMemberAssignmentValue(
            member_epoch=member.member_epoch,
            previous_member_epoch=member.previous_member_epoch,
            state=STABLE,
            assigned_partitions=[
                _CurrentTopic(topic_id, sorted(indexes)) for topic_id, indexes in member.assigned.items()
            ],
        ),
    )


def with_current(member: ShareMember, value: ShareGroupCurrentMemberAssignmentValue) -> ShareMember:
    """The member with what the record says it has."""
    return replace(
        member,
        member_epoch=value.member_epoch,
        previous_member_epoch=value.previous_member_epoch,
        assigned=partitions((row.topic_id, row.partitions) for row in value.assigned_partitions),
    )


def write_epoch(turn: GroupTurn, group_id: str, epoch: int, metadata_hash: int) -> None:
    """The group epoch, and the hash of the topics that it stands for."""
    turn.write(ShareGroupMetadataKey(group_id), ShareGroupMetadataValue(epoch, metadata_hash))


def write_target(
    turn: GroupTurn, group_id: str, member_id: str, target: Mapping[bytes, frozenset[int]]
) -> None:
    """What a member is to have."""
    turn.write(
        ShareGroupTargetAssignmentMemberKey(group_id, member_id),
        ShareGroupTargetAssignmentMemberValue(
            [_TargetTopic(topic_id, sorted(indexes)) for topic_id, indexes in target.items()]
        ),
    )


def target_of(value: ShareGroupTargetAssignmentMemberValue) -> Mapping[bytes, frozenset[int]]:
    """What the record says a member is to have."""
    return partitions((row.topic_id, row.partitions) for row in value.topic_partitions)


def write_target_epoch(turn: GroupTurn, group_id: str, epoch: int, timestamp_ms: int) -> None:
    """The group epoch that the targets are for, and when they were made."""
    turn.write(
        ShareGroupTargetAssignmentMetadataKey(group_id),
        ShareGroupTargetAssignmentMetadataValue(epoch, timestamp_ms),
    )


def write_initialization(turn: GroupTurn, group_id: str, state: Initialization) -> None:
    """Which share partitions have state."""
    names = turn.shard.image().topic_names
    turn.write(
        ShareGroupStatePartitionMetadataKey(group_id),
        ShareGroupStatePartitionMetadataValue(
            initializing_topics=_rows(state.initializing),
            initialized_topics=_rows(state.initialized),
            deleting_topics=[
                _Topic(topic_id, names.get(topic_id, UNKNOWN_TOPIC)) for topic_id in sorted(state.deleting)
            ],
        ),
    )


def _rows(topics: Mapping[bytes, TopicPartitions]) -> list[_Partitions]:
    return [_Partitions(topic_id, row.name, sorted(row.partitions)) for topic_id, row in topics.items()]


def initialization_of(value: ShareGroupStatePartitionMetadataValue) -> Initialization:
    """Which share partitions have state, as the record says."""
    return Initialization(
        _topics(value.initializing_topics),
        _topics(value.initialized_topics),
        frozenset(row.topic_id for row in value.deleting_topics),
    )


def _topics(rows: Iterable[_Partitions]) -> dict[bytes, TopicPartitions]:
    return {row.topic_id: TopicPartitions(row.topic_name, frozenset(row.partitions)) for row in rows}


def bury_member(turn: GroupTurn, group_id: str, member_id: str) -> None:
    """The tombstones of a member: what it has, what it is to have, what it wants."""
    turn.write(ShareGroupCurrentMemberAssignmentKey(group_id, member_id), None)
    turn.write(ShareGroupTargetAssignmentMemberKey(group_id, member_id), None)
    turn.write(ShareGroupMemberMetadataKey(group_id, member_id), None)


def bury_group(turn: GroupTurn, group_id: str) -> None:
    """The tombstones of a group without members."""
    turn.write(ShareGroupTargetAssignmentMetadataKey(group_id), None)
    turn.write(ShareGroupStatePartitionMetadataKey(group_id), None)
    turn.write(ShareGroupMetadataKey(group_id), None)
