"""What is written of consumer groups in `__consumer_offsets`, and read back.

The records are those of Kafka 4.3. Earlier Kafkas with consumer groups read them as well: they pass over what
they do not know (the metadata hash, assignment epochs and timestamps, resolved patterns before 4.0). What a
Kafka before 4.1 wrote of topic metadata (record type 4) is only noted, and buried with the next change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.group.kinds.consumer.member import NO_EPOCHS, ClassicMembership, MemberState
from kcompat.group.modern.assignment import partitions
from kcompat.group.modern.topics import java_order
from kcompat.protocol.messages.consumer_group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcompat.group.base import GroupTurn
    from kcompat.group.kinds.consumer.member import ConsumerMember
    from kcompat.group.kinds.consumer.patterns import ResolvedPattern

NO_IMAGE_VERSION = 0
"""Written as the version of the picture that a pattern was resolved on: Kafka's offsets of its metadata mean
nothing here. Kafka resolves the pattern again when it finds it."""

_CurrentTopic = ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions
_TargetTopic = ConsumerGroupTargetAssignmentMemberValue.TopicPartition
_Protocol = ConsumerGroupMemberMetadataValue.ClassicProtocol
_Classic = ConsumerGroupMemberMetadataValue.ClassicMemberMetadata


def write_member(turn: GroupTurn, group_id: str, member: ConsumerMember) -> None:
    """What a member wants."""
    classic = member.classic
    turn.write(
        ConsumerGroupMemberMetadataKey(group_id, member.member_id),
        ConsumerGroupMemberMetadataValue(
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=sorted(member.subscribed_topics, key=java_order),
            subscribed_topic_regex=member.subscribed_regex,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            server_assignor=member.server_assignor,
            classic_member_metadata=None
            if classic is None
            else _Classic(
                classic.session_timeout_ms, [_Protocol(name, data) for name, data in classic.protocols]
            ),
        ),
    )


def with_metadata(member: ConsumerMember, value: ConsumerGroupMemberMetadataValue) -> ConsumerMember:
    """The member with what the record says it wants."""
    classic = value.classic_member_metadata
    return replace(
        member,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        subscribed_topics=frozenset(value.subscribed_topic_names),
        subscribed_regex=value.subscribed_topic_regex or "",
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        server_assignor=value.server_assignor,
        classic=None
        if classic is None
        else ClassicMembership(
            classic.session_timeout_ms,
            tuple((protocol.name, bytes(protocol.metadata)) for protocol in classic.supported_protocols),
        ),
    )


def write_current(turn: GroupTurn, group_id: str, member: ConsumerMember) -> None:
    """What a member has."""
    turn.write(
        ConsumerGroupCurrentMemberAssignmentKey(group_id, member.member_id),
        ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=member.member_epoch,
            previous_member_epoch=member.previous_member_epoch,
            state=member.state,
            assigned_partitions=_rows(member.assigned),
            partitions_pending_revocation=_rows(member.revoking),
        ),
    )


def _rows(epochs: Mapping[bytes, Mapping[int, int]]) -> list[_CurrentTopic]:
    return [
        _CurrentTopic(topic_id, list(partitions), list(partitions.values()))
        for topic_id, partitions in epochs.items()
    ]


def with_current(member: ConsumerMember, value: ConsumerGroupCurrentMemberAssignmentValue) -> ConsumerMember:
    """The member with what the record says it has."""
    return replace(
        member,
        member_epoch=value.member_epoch,
        previous_member_epoch=value.previous_member_epoch,
        state=MemberState(value.state),
        assigned=_epochs(value.assigned_partitions, value.member_epoch),
        revoking=_epochs(value.partitions_pending_revocation, value.member_epoch),
    )


def _epochs(rows: Iterable[_CurrentTopic], member_epoch: int) -> Mapping[bytes, Mapping[int, int]]:
    """Partitions with their assignment epochs. Kafka before 4.3 wrote none: then it is the member's."""
    found = {}
    for row in rows:
        epochs = row.assignment_epochs
        if epochs is None or len(epochs) != len(row.partitions):
            epochs = [max(member_epoch, 0)] * len(row.partitions)
        if row.partitions:
            found[row.topic_id] = dict(zip(row.partitions, epochs, strict=True))
    return found or NO_EPOCHS


def write_epoch(turn: GroupTurn, group_id: str, epoch: int, metadata_hash: int) -> None:
    """The group epoch, and the hash of the topics that it stands for."""
    turn.write(ConsumerGroupMetadataKey(group_id), ConsumerGroupMetadataValue(epoch, metadata_hash))


def write_target(
    turn: GroupTurn, group_id: str, member_id: str, target: Mapping[bytes, frozenset[int]]
) -> None:
    """What a member is to have."""
    turn.write(
        ConsumerGroupTargetAssignmentMemberKey(group_id, member_id),
        ConsumerGroupTargetAssignmentMemberValue(
            [_TargetTopic(topic_id, sorted(indexes)) for topic_id, indexes in target.items()]
        ),
    )


def target_of(value: ConsumerGroupTargetAssignmentMemberValue) -> Mapping[bytes, frozenset[int]]:
    """What the record says a member is to have."""
    return partitions((row.topic_id, row.partitions) for row in value.topic_partitions)


def write_target_epoch(turn: GroupTurn, group_id: str, epoch: int, timestamp_ms: int) -> None:
    """The group epoch that the targets are for, and when they were made."""
    turn.write(
        ConsumerGroupTargetAssignmentMetadataKey(group_id),
        ConsumerGroupTargetAssignmentMetadataValue(epoch, timestamp_ms),
    )


def write_pattern(turn: GroupTurn, group_id: str, pattern: str, resolved: ResolvedPattern) -> None:
    """The topics that a pattern matches."""
    turn.write(
        ConsumerGroupRegularExpressionKey(group_id, pattern),
        ConsumerGroupRegularExpressionValue(
            sorted(resolved.topics, key=java_order), NO_IMAGE_VERSION, resolved.timestamp_ms
        ),
    )


def bury_pattern(turn: GroupTurn, group_id: str, pattern: str) -> None:
    """The tombstone of a pattern that no member subscribes to."""
    turn.write(ConsumerGroupRegularExpressionKey(group_id, pattern), None)


def bury_old_metadata(turn: GroupTurn, group_id: str) -> None:
    """The tombstone of the topic metadata of Kafka before 4.1."""
    turn.write(ConsumerGroupPartitionMetadataKey(group_id), None)


def bury_member(turn: GroupTurn, group_id: str, member_id: str) -> None:
    """The tombstones of a member: what it has, what it is to have, what it wants."""
    turn.write(ConsumerGroupCurrentMemberAssignmentKey(group_id, member_id), None)
    turn.write(ConsumerGroupTargetAssignmentMemberKey(group_id, member_id), None)
    turn.write(ConsumerGroupMemberMetadataKey(group_id, member_id), None)


def bury_group(turn: GroupTurn, group_id: str, member_ids: Iterable[str], patterns: Iterable[str]) -> None:
    """The tombstones of a whole group."""
    for member_id in member_ids:
        bury_member(turn, group_id, member_id)
    turn.write(ConsumerGroupTargetAssignmentMetadataKey(group_id), None)
    for pattern in patterns:
        bury_pattern(turn, group_id, pattern)
    bury_old_metadata(turn, group_id)
    turn.write(ConsumerGroupMetadataKey(group_id), None)
