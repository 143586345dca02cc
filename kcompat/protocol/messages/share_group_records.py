"""Records of share groups in `__consumer_offsets` (KIP-932)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, int8, int32, int64, string, struct, uuid


@message("9")
class ShareGroupPartitionMetadataKey(Message):
    """The key of the share group partition metadata record (record type 9)."""

    group_id: Annotated[str, string("9+")] = ""


@message("0", flexible="0+")
class ShareGroupPartitionMetadataValue(Message):
    """The share group partition metadata record (record type 9, v0)."""

    class TopicPartitionsInfo(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        topic_name: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[int], int32("0+")] = []

    class TopicInfo(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        topic_name: Annotated[str, string("0+")] = ""

    initialized_topics: Annotated[
        list[ShareGroupPartitionMetadataValue.TopicPartitionsInfo], struct("0+")
    ] = []
    deleting_topics: Annotated[list[ShareGroupPartitionMetadataValue.TopicInfo], struct("0+")] = []


@message("0", record_type=10)
class ShareGroupMemberMetadataKey(Message):
    """The key of the share group member metadata record (record type 10)."""

    group_id: Annotated[str, string("0+")] = ""
    member_id: Annotated[str, string("0+")] = ""


@message("0", record_type=11)
class ShareGroupMetadataKey(Message):
    """The key of the share group metadata record (record type 11)."""

    group_id: Annotated[str, string("0+")] = ""


@message("0", record_type=12)
class ShareGroupTargetAssignmentMetadataKey(Message):
    """The key of the share group target assignment metadata record (record type 12)."""

    group_id: Annotated[str, string("0+")] = ""


@message("0", record_type=13)
class ShareGroupTargetAssignmentMemberKey(Message):
    """The key of the share group target assignment member record (record type 13)."""

    group_id: Annotated[str, string("0+")] = ""
    member_id: Annotated[str, string("0+")] = ""


@message("0", record_type=14)
class ShareGroupCurrentMemberAssignmentKey(Message):
    """The key of the share group current member assignment record (record type 14)."""

    group_id: Annotated[str, string("0+")] = ""
    member_id: Annotated[str, string("0+")] = ""


@message("0", record_type=15)
class ShareGroupStatePartitionMetadataKey(Message):
    """The key of the share group state partition metadata record (record type 15)."""

    group_id: Annotated[str, string("0+")] = ""


@message("0", flexible="0+", record_type=10)
class ShareGroupMemberMetadataValue(Message):
    """The share group member metadata record (record type 10, v0)."""

    rack_id: Annotated[str | None, string("0+", nullable="0+")] = ""
    client_id: Annotated[str, string("0+")] = ""
    client_host: Annotated[str, string("0+")] = ""
    subscribed_topic_names: Annotated[list[str], string("0+")] = []


@message("0", flexible="0+", record_type=11)
class ShareGroupMetadataValue(Message):
    """The share group metadata record (record type 11, v0)."""

    epoch: Annotated[int, int32("0+")] = 0
    metadata_hash: Annotated[int, int64("0+")] = 0


@message("0", flexible="0+", record_type=12)
class ShareGroupTargetAssignmentMetadataValue(Message):
    """The share group target assignment metadata record (record type 12, v0)."""

    assignment_epoch: Annotated[int, int32("0+")] = 0
    assignment_timestamp: Annotated[int, int64("0+", tag=0, ignorable=True)] = 0


@message("0", flexible="0+", record_type=13)
class ShareGroupTargetAssignmentMemberValue(Message):
    """The share group target assignment member record (record type 13, v0)."""

    class TopicPartition(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[list[int], int32("0+")] = []

    topic_partitions: Annotated[list[ShareGroupTargetAssignmentMemberValue.TopicPartition], struct("0+")] = []


@message("0", flexible="0+", record_type=14)
class ShareGroupCurrentMemberAssignmentValue(Message):
    """The share group current member assignment record (record type 14, v0)."""

    class TopicPartitions(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        partitions: Annotated[list[int], int32("0+")] = []

    member_epoch: Annotated[int, int32("0+")] = 0
    previous_member_epoch: Annotated[int, int32("0+")] = 0
    state: Annotated[int, int8("0+")] = 0
    assigned_partitions: Annotated[
        list[ShareGroupCurrentMemberAssignmentValue.TopicPartitions], struct("0+")
    ] = []


@message("0", flexible="0+", record_type=15)
class ShareGroupStatePartitionMetadataValue(Message):
    """The share group state partition metadata record (record type 15, v0)."""

    class TopicPartitionsInfo(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        topic_name: Annotated[str, string("0+")] = ""
        partitions: Annotated[list[int], int32("0+")] = []

    class TopicInfo(Part):
        topic_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
        topic_name: Annotated[str, string("0+")] = ""

    initializing_topics: Annotated[
        list[ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo], struct("0+")
    ] = []
    initialized_topics: Annotated[
        list[ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo], struct("0+")
    ] = []
    deleting_topics: Annotated[list[ShareGroupStatePartitionMetadataValue.TopicInfo], struct("0+")] = []
