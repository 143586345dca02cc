"""Records of consumer groups in `__consumer_offsets` (KIP-848)."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, binary, int8, int32, int64, string, struct, uuid


@message("0", record_type=3)
class ConsumerGroupMetadataKey(Message):
    """The key of the consumer group metadata record (record type 3)."""

    group_id: Annotated[str, string("0+")] = ""


@message("0", record_type=4)
class ConsumerGroupPartitionMetadataKey(Message):
    """The key of the consumer group partition metadata record (record type 4)."""

    group_id: Annotated[str, string("0+")] = ""


@message("0", record_type=5)
class ConsumerGroupMemberMetadataKey(Message):
    """The key of the consumer group member metadata record (record type 5)."""

    group_id: Annotated[str, string("0+")] = ""
    member_id: Annotated[str, string("0+")] = ""


@message("0", record_type=6)
class ConsumerGroupTargetAssignmentMetadataKey(Message):
    """The key of the consumer group target assignment metadata record (record type 6)."""

    group_id: Annotated[str, string("0+")] = ""


@message("0", record_type=7)
class ConsumerGroupTargetAssignmentMemberKey(Message):
    """The key of the consumer group target assignment member record (record type 7)."""

    group_id: Annotated[str, string("0+")] = ""
    member_id: Annotated[str, string("0+")] = ""


@message("0", record_type=8)
class ConsumerGroupCurrentMemberAssignmentKey(Message):
    """The key of the consumer group current member assignment record (record type 8)."""

    group_id: Annotated[str, string("0+")] = ""
    member_id: Annotated[str, string("0+")] = ""


@message("0", record_type=16)
class ConsumerGroupRegularExpressionKey(Message):
    """The key of the consumer group regular expression record (record type 16)."""

    group_id: Annotated[str, string("0+")] = ""
    regular_expression: Annotated[str, string("0+")] = ""


@message("0", flexible="0+", record_type=3)
class ConsumerGroupMetadataValue(Message):
    """The consumer group metadata record (record type 3, v0)."""

    epoch: Annotated[int, int32("0+")] = 0
    metadata_hash: Annotated[int, int64("0+", tag=0)] = 0


@message("0", flexible="0+", record_type=4)
class ConsumerGroupPartitionMetadataValue(Message):
    """The consumer group partition metadata record (record type 4, v0)."""

    class PartitionMetadata(Part):
        partition: Annotated[int, int32("0+")] = 0
        racks: Annotated[list[str], string("0+")] = []

    class TopicMetadata(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        topic_name: Annotated[str, string("0+")] = ""
        num_partitions: Annotated[int, int32("0+")] = 0
        partition_metadata: Annotated[
            list[ConsumerGroupPartitionMetadataValue.PartitionMetadata], struct("0+")
        ] = []

    topics: Annotated[list[ConsumerGroupPartitionMetadataValue.TopicMetadata], struct("0+")] = []


@message("0", flexible="0+", record_type=5)
class ConsumerGroupMemberMetadataValue(Message):
    """The consumer group member metadata record (record type 5, v0)."""

    class ClassicProtocol(Part):
        name: Annotated[str, string("0+")] = ""
        metadata: Annotated[bytes, binary("0+")] = b""

    class ClassicMemberMetadata(Part):
        session_timeout_ms: Annotated[int, int32("0+")] = 0
        supported_protocols: Annotated[
            list[ConsumerGroupMemberMetadataValue.ClassicProtocol], struct("0+")
        ] = []

    instance_id: Annotated[str | None, string("0+", nullable="0+")] = ""
    rack_id: Annotated[str | None, string("0+", nullable="0+")] = ""
    client_id: Annotated[str, string("0+")] = ""
    client_host: Annotated[str, string("0+")] = ""
    subscribed_topic_names: Annotated[list[str], string("0+")] = []
    subscribed_topic_regex: Annotated[str | None, string("0+", nullable="0+")] = ""
    rebalance_timeout_ms: Annotated[int, int32("0+")] = -1
    server_assignor: Annotated[str | None, string("0+", nullable="0+")] = ""
    classic_member_metadata: Annotated[
        ConsumerGroupMemberMetadataValue.ClassicMemberMetadata | None, struct("0+", nullable="0+", tag=0)
    ] = field(default_factory=lambda: ConsumerGroupMemberMetadataValue.ClassicMemberMetadata())


@message("0", flexible="0+", record_type=6)
class ConsumerGroupTargetAssignmentMetadataValue(Message):
    """The consumer group target assignment metadata record (record type 6, v0)."""

    assignment_epoch: Annotated[int, int32("0+")] = 0
    assignment_timestamp: Annotated[int, int64("0+", tag=0, ignorable=True)] = 0


@message("0", flexible="0+", record_type=7)
class ConsumerGroupTargetAssignmentMemberValue(Message):
    """The consumer group target assignment member record (record type 7, v0)."""

    class TopicPartition(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[list[int], int32("0+")] = []

    topic_partitions: Annotated[
        list[ConsumerGroupTargetAssignmentMemberValue.TopicPartition], struct("0+")
    ] = []


@message("0", flexible="0+", record_type=8)
class ConsumerGroupCurrentMemberAssignmentValue(Message):
    """The consumer group current member assignment record (record type 8, v0)."""

    class TopicPartitions(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[list[int], int32("0+")] = []
        assignment_epochs: Annotated[list[int] | None, int32("0+", nullable="0+", tag=0)] = None

    member_epoch: Annotated[int, int32("0+")] = 0
    previous_member_epoch: Annotated[int, int32("0+")] = 0
    state: Annotated[int, int8("0+")] = 0
    assigned_partitions: Annotated[
        list[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions], struct("0+")
    ] = []
    partitions_pending_revocation: Annotated[
        list[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions], struct("0+")
    ] = []


@message("0", flexible="0+", record_type=16)
class ConsumerGroupRegularExpressionValue(Message):
    """The consumer group regular expression record (record type 16, v0)."""

    topics: Annotated[list[str], string("0+")] = []
    version: Annotated[int, int64("0+")] = 0
    timestamp: Annotated[int, int64("0+")] = 0
