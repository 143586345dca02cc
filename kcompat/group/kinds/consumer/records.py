"""Records of consumer groups in `__consumer_offsets`: writing and replay.

The records are those of Kafka 4.3. Earlier versions of Kafka with consumer groups read them as well, and
ignore fields that they do not know (the metadata hash, assignment epochs and timestamps, resolved patterns
before 4.0). The topic metadata that Kafka before 4.1 wrote (record type 4) is only detected, and its
tombstone is written with the next change.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from kcompat.group.kinds.consumer.member import (
    NO_EPOCHS,
    ClassicMembership,
    ConsumerMember,
    ConsumerMemberState,
)
from kcompat.group.kinds.consumer.subscriptions import ResolvedPattern
from kcompat.group.modern.records import SubscribedRecords
from kcompat.group.modern.topics import java_order
from kcompat.protocol.messages.consumer_group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcompat.group.base import GroupTransition
    from kcompat.group.kinds.consumer.members import ConsumerMembers

NO_IMAGE_VERSION = 0
"""Version of the metadata image written with a resolved pattern; Kafka's metadata offsets have no equivalent
here.

Kafka resolves the pattern again when it reads this version.
"""

_CurrentTopic = ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions
_Protocol = ConsumerGroupMemberMetadataValue.ClassicProtocol
_Classic = ConsumerGroupMemberMetadataValue.ClassicMemberMetadata


def _replay_old_metadata(group: ConsumerMembers, _key: Any, value: Any, _offset: int) -> None:
    group.has_old_metadata = value is not None


def _replay_pattern(
    group: ConsumerMembers,
    key: ConsumerGroupRegularExpressionKey,
    value: ConsumerGroupRegularExpressionValue | None,
    offset: int,
) -> None:
    text = key.regular_expression
    resolved = None if value is None else ResolvedPattern(frozenset(value.topics), value.timestamp)
    if resolved is not None or group.patterns.get(text) is not None:
        group.patterns.set(text, resolved, offset)


class ConsumerRecords(SubscribedRecords[ConsumerMember]):
    """The records of consumer groups."""

    group = ConsumerGroupMetadataKey, ConsumerGroupMetadataValue
    member = ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue
    target_epoch = ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue
    target = ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue
    current = ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue
    others = MappingProxyType(
        {
            (ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue): _replay_old_metadata,
            (ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue): _replay_pattern,
        }
    )
    target_row = ConsumerGroupTargetAssignmentMemberValue.TopicPartition
    new_member = ConsumerMember

    def member_value(self, member: ConsumerMember) -> ConsumerGroupMemberMetadataValue:
        classic = member.classic
        return ConsumerGroupMemberMetadataValue(
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
        )

    def with_member(self, member: ConsumerMember, value: ConsumerGroupMemberMetadataValue) -> ConsumerMember:
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

    def current_value(self, member: ConsumerMember) -> ConsumerGroupCurrentMemberAssignmentValue:
        return ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=member.member_epoch,
            previous_member_epoch=member.previous_member_epoch,
            state=member.state,
            assigned_partitions=_rows(member.assigned),
            partitions_pending_revocation=_rows(member.revoking),
        )

    def with_current(
        self, member: ConsumerMember, value: ConsumerGroupCurrentMemberAssignmentValue
    ) -> ConsumerMember:
        return replace(
            member,
            member_epoch=value.member_epoch,
            previous_member_epoch=value.previous_member_epoch,
            state=ConsumerMemberState(value.state),
            assigned=_epochs(value.assigned_partitions, value.member_epoch),
            revoking=_epochs(value.partitions_pending_revocation, value.member_epoch),
        )

    def write_pattern(
        self, transition: GroupTransition, group_id: str, pattern: str, resolved: ResolvedPattern
    ) -> None:
        """Write the topics that a pattern matches."""
        transition.write(
            ConsumerGroupRegularExpressionKey(group_id, pattern),
            ConsumerGroupRegularExpressionValue(
                sorted(resolved.topics, key=java_order), NO_IMAGE_VERSION, resolved.timestamp_ms
            ),
        )

    def write_pattern_tombstone(self, transition: GroupTransition, group_id: str, pattern: str) -> None:
        """Write the tombstone of a pattern that no member subscribes to."""
        transition.write(ConsumerGroupRegularExpressionKey(group_id, pattern), None)

    def write_old_metadata_tombstone(self, transition: GroupTransition, group_id: str) -> None:
        """Write the tombstone of the topic metadata that Kafka before 4.1 wrote."""
        transition.write(ConsumerGroupPartitionMetadataKey(group_id), None)

    def write_all_tombstones(
        self, transition: GroupTransition, group_id: str, member_ids: Iterable[str], patterns: Iterable[str]
    ) -> None:
        """Write the tombstones of a whole group."""
        keys = [ConsumerGroupRegularExpressionKey(group_id, pattern) for pattern in patterns]
        others = [*keys, ConsumerGroupPartitionMetadataKey(group_id)]
        self.write_group_tombstones(transition, group_id, member_ids, others)


def _rows(epochs: Mapping[bytes, Mapping[int, int]]) -> list[_CurrentTopic]:
    return [
        _CurrentTopic(topic_id, list(partitions), list(partitions.values()))
        for topic_id, partitions in epochs.items()
    ]


def _epochs(rows: Iterable[_CurrentTopic], member_epoch: int) -> Mapping[bytes, Mapping[int, int]]:
    """Return partitions with their assignment epochs; the epoch is the member's if Kafka before 4.3 wrote the
    record.
    """
    found = {}
    for row in rows:
        epochs = row.assignment_epochs
        if epochs is None or len(epochs) != len(row.partitions):
            epochs = [max(member_epoch, 0)] * len(row.partitions)
        if row.partitions:
            found[row.topic_id] = dict(zip(row.partitions, epochs, strict=True))
    return found or NO_EPOCHS


RECORDS: Final = ConsumerRecords()
