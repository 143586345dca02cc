"""The record formats of `__consumer_offsets`.

Values are written as Kafka 3.9 writes them: offsets at version 3 (1 when the client asked for a retention of
its own), classic groups at version 3; the records of consumer, share and streams groups are those of 4.3: 3.9
reads the former, and passes over what it does not know of the latter. Every version is read. Offset keys of
type 0, which old brokers wrote, are read like those of type 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.coordinator.serde import RecordSerde
from kcompat.protocol.messages import consumer_group_records as consumer
from kcompat.protocol.messages import share_group_records as share
from kcompat.protocol.messages import streams_group_records as streams
from kcompat.protocol.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)

if TYPE_CHECKING:
    from kcompat.protocol.message import Message

OFFSET_VALUE_VERSION = 3
OFFSET_VALUE_WITH_EXPIRY_VERSION = 1
GROUP_VALUE_VERSION = 3
NEWER_VALUE_VERSION = 0
"""That of all records which are younger than classic groups: they grow by tagged fields."""


def _value_version(value: Message) -> int:
    if isinstance(value, OffsetCommitValue):
        return OFFSET_VALUE_VERSION if value.expire_timestamp == -1 else OFFSET_VALUE_WITH_EXPIRY_VERSION
    if isinstance(value, GroupMetadataValue):
        return GROUP_VALUE_VERSION
    return NEWER_VALUE_VERSION


GROUP_SERDE: Final = RecordSerde(
    {
        0: (OffsetCommitKey, OffsetCommitValue),
        1: (OffsetCommitKey, OffsetCommitValue),
        2: (GroupMetadataKey, GroupMetadataValue),
        3: (consumer.ConsumerGroupMetadataKey, consumer.ConsumerGroupMetadataValue),
        4: (consumer.ConsumerGroupPartitionMetadataKey, consumer.ConsumerGroupPartitionMetadataValue),
        5: (consumer.ConsumerGroupMemberMetadataKey, consumer.ConsumerGroupMemberMetadataValue),
        6: (
            consumer.ConsumerGroupTargetAssignmentMetadataKey,
            consumer.ConsumerGroupTargetAssignmentMetadataValue,
        ),
        7: (
            consumer.ConsumerGroupTargetAssignmentMemberKey,
            consumer.ConsumerGroupTargetAssignmentMemberValue,
        ),
        8: (
            consumer.ConsumerGroupCurrentMemberAssignmentKey,
            consumer.ConsumerGroupCurrentMemberAssignmentValue,
        ),
        10: (share.ShareGroupMemberMetadataKey, share.ShareGroupMemberMetadataValue),
        11: (share.ShareGroupMetadataKey, share.ShareGroupMetadataValue),
        12: (share.ShareGroupTargetAssignmentMetadataKey, share.ShareGroupTargetAssignmentMetadataValue),
        13: (share.ShareGroupTargetAssignmentMemberKey, share.ShareGroupTargetAssignmentMemberValue),
        14: (share.ShareGroupCurrentMemberAssignmentKey, share.ShareGroupCurrentMemberAssignmentValue),
        15: (share.ShareGroupStatePartitionMetadataKey, share.ShareGroupStatePartitionMetadataValue),
        16: (consumer.ConsumerGroupRegularExpressionKey, consumer.ConsumerGroupRegularExpressionValue),
        17: (streams.StreamsGroupMetadataKey, streams.StreamsGroupMetadataValue),
        19: (streams.StreamsGroupMemberMetadataKey, streams.StreamsGroupMemberMetadataValue),
        20: (
            streams.StreamsGroupTargetAssignmentMetadataKey,
            streams.StreamsGroupTargetAssignmentMetadataValue,
        ),
        21: (streams.StreamsGroupTargetAssignmentMemberKey, streams.StreamsGroupTargetAssignmentMemberValue),
        22: (
            streams.StreamsGroupCurrentMemberAssignmentKey,
            streams.StreamsGroupCurrentMemberAssignmentValue,
        ),
        23: (streams.StreamsGroupTopologyKey, streams.StreamsGroupTopologyValue),
    },
    _value_version,
)
